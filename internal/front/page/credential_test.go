//go:build unix

package page_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/model/script"
)

// A foreign server is one on another port of this machine, such as an agent starts. It keeps all
// that it is sent, and its page tries to reach haft.
type foreign struct {
	url string

	mu   sync.Mutex
	sent []string
}

func newForeign(t *testing.T, haft *string) *foreign {
	t.Helper()
	f := &foreign{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := httputil.DumpRequest(r, true)
		f.mu.Lock()
		f.sent = append(f.sent, string(raw))
		f.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, foreignPage, *haft)
	}))
	t.Cleanup(h.Close)
	f.url = h.URL
	return f
}

// foreignPage is a page that tries what a page can: requests of every kind with all that the
// browser adds by itself, frames, the window that opened it, and one that it opens.
const foreignPage = `<!doctype html><title>foreign</title><script>
const haft = %q;
(async () => {
	const got = [];
	const note = (what) => (value) => value && got.push(what + ": " + value);
	for (const path of ["/v1/sessions", "/v1/events", "/v1/devices"]) {
		for (const mode of ["cors", "no-cors"]) await fetch(haft + path, {mode, credentials: "include"}).then(async (r) => note(mode + " " + path)(r.ok && await r.text())).catch(() => {});
		await fetch(haft + path, {credentials: "include", headers: {"Haft-Token": "x"}}).then((r) => note("header " + path)(r.ok)).catch(() => {});
	}
	await fetch(haft + "/v1/sessions", {method: "POST", mode: "no-cors", credentials: "include", headers: {"Content-Type": "text/plain"}, body: '{"cwd":"/tmp","prompt":"owned"}'}).catch(() => {});
	try { note("opener")(opener && opener.localStorage.length); } catch {}
	const frame = document.body.appendChild(document.createElement("iframe"));
	frame.src = haft + "/";
	await new Promise((r) => setTimeout(r, 300));
	try { note("frame")(frame.contentWindow.localStorage.length); } catch {}
	const opened = window.open(haft + "/");
	await new Promise((r) => setTimeout(r, 300));
	try { note("window")(opened && opened.localStorage.length); } catch {}
	note("cookie")(document.cookie);
	note("storage")(localStorage.length + sessionStorage.length);
	document.body.dataset.got = got.join("; ") || "nothing";
})();
</script>`

// requests is all that the server was sent.
func (f *foreign) requests() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.sent, "\n")
}

// A server on another port that is opened beside the page, and by a link in it, gets no
// credential; a reload keeps the user logged in, and a login code is gone from the address. When
// the server has ended, nothing in the browser's profile opens its successor with the same port,
// token and home.
func TestCredentialsStayHome(t *testing.T) {
	var address string
	f := newForeign(t, &address)
	s := newSite(t, func(string) []script.Part {
		return []script.Part{{When: "link", Turns: []script.Turn{says("See [the server](" + f.url + "/linked) that I started.")}}}
	})
	address = s.url
	p := s.login(1280, 900)
	var credential string
	p.eval(`localStorage.getItem("haft-credential")`, &credential)
	if len(credential) < 26 {
		t.Fatalf("the page has the credential %q", credential)
	}
	s.create(p, "link")
	p.wait(`document.querySelector('.i-text a[target="_blank"]')`)
	p.do("Page.reload", nil)
	p.wait(`document.querySelector('.i-text a[target="_blank"]') && document.querySelector("header .chip").textContent === "done"`)
	p.eval(`document.querySelector('.i-text a[target="_blank"]').click()`, nil)
	q := s.browser.tab(800, 600)
	q.open(f.url + "/beside")
	q.wait(`document.body.dataset.got`)
	var got string
	if q.eval(`document.body.dataset.got`, &got); got != "nothing" {
		t.Errorf("the foreign page got %s", got)
	}
	p.open(f.url + "/instead") // in the tab that was logged in
	p.wait(`document.body.dataset.got === "nothing"`)
	for end := time.Now().Add(patience); !strings.Contains(f.requests(), "GET /linked "); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the link was not opened")
		}
	}
	for _, secret := range []string{credential, token, "Cookie:", "Authorization:", "Haft-Token:", "Referer: " + s.url} {
		if strings.Contains(f.requests(), secret) {
			t.Errorf("the foreign server was sent %q", secret)
		}
	}
	p.open(s.url + "/")
	p.wait(`document.querySelector(".sessions")?.dataset.ready`)

	if status := s.status("GET", "/v1/sessions", "Haft-Token: "+credential, ""); status != http.StatusOK {
		t.Errorf("while the server runs, the credential gets %d", status)
	}
	used := s.code()
	p.open("about:blank")
	p.open(s.url + "/#login=" + used)
	p.wait(`document.querySelector(".sessions")?.dataset.ready`)

	s.restart()
	p.wait(`document.querySelector(".sessions.offline .lost")?.textContent.includes("haft serve")`)
	p.do("Page.reload", nil)
	p.wait(`document.querySelector(".problem")?.textContent.includes("not logged in")`)
	p.open("about:blank")
	p.open(s.url + "/#login=" + used) // as from the history
	p.wait(`document.querySelector(".problem")?.textContent.includes("already used")`)
	p.open("about:blank")
	p.open(s.url + "/#login=" + s.code())
	p.wait(`document.querySelector(".sessions")?.dataset.ready && location.hash === ""`)
	s.restart()
	s.browser.end() // it writes what it has
	words := s.browser.secrets(t)
	t.Logf("%d words in the profile may be secrets", len(words))
	for _, kept := range append(words, credential, used) {
		for _, header := range []string{"Haft-Token: " + kept, "Authorization: Bearer " + kept, "Authorization: Haft " + kept} {
			if status := s.status("GET", "/v1/sessions", header, ""); status == http.StatusOK {
				t.Errorf("%q, which the browser keeps, opens the next server", kept)
			}
		}
	}
}

// secrets are all words in the files of the profile that may be a code or a credential.
func (b *browser) secrets(t *testing.T) (list []string) {
	t.Helper()
	known := map[string]bool{}
	err := filepath.WalkDir(b.profile, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // the browser works there
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		raw = bytes.ReplaceAll(raw, []byte{0}, nil) // texts of two bytes a letter
		for _, word := range base32Words.FindAllString(string(raw), -1) {
			for n := 0; n+26 <= len(word) && n < 8; n++ { // a byte before it may be a letter
				if w := word[n : n+26]; !known[w] {
					known[w] = true
					list = append(list, w)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var base32Words = regexp.MustCompile(`[A-Z2-7]{26,40}`)
