package serve_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/internal/front/timeline"
)

// A phone is a browser on another machine, which comes through the tunnel box.example.
type phone struct {
	*site
	token         string
	authorization string // a header; "" sends none
}

func (p *phone) send(method, path string, body any) *http.Response {
	p.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := http.NewRequest(method, p.url+path, bytes.NewReader(raw))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Host = "box.example"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "https://box.example")
	r.Header.Set("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X)")
	if p.authorization != "" {
		r.Header.Set("Authorization", p.authorization)
	}
	if p.token != "" {
		r.Header.Set("Haft-Token", p.token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// code makes a code on the machine of the server.
func (s *site) code(full bool) serve.Pairing {
	s.t.Helper()
	var p serve.Pairing
	s.must("POST", "/v1/pairings", serve.NewPairing{Full: full}, &p)
	return p
}

// pair pairs the phone and returns the status.
func (p *phone) pair(code string) int {
	p.t.Helper()
	resp := p.send("POST", "/v1/pair", serve.Code{Code: code})
	var c serve.Credential
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		p.t.Fatal(err)
	}
	if c.Token != "" {
		p.token = c.Token
	}
	if len(resp.Cookies()) > 0 {
		p.t.Errorf("a device gets cookies: %v", resp.Cookies())
	}
	return resp.StatusCode
}

// register is the file that keeps the devices.
func register() string { return filepath.Join(os.Getenv("HAFT_HOME"), "serve", "devices.json") }

// A phone that scans the code may watch and answer, and nothing else, until it is revoked.
func TestAPairedPhoneWatchesAndAnswers(t *testing.T) {
	servetest.Home(t)
	dir := t.TempDir()
	s := startSite(t, servetest.Scripted(t, servetest.Writes(filepath.Join(dir, "a.txt"), "yes"), servetest.Says("Over.")), "127.0.0.1:0")
	code := s.code(false)
	if code.URL != "https://box.example/#pair="+code.Code || !strings.HasPrefix(code.SVG, "<svg ") || time.Until(time.UnixMilli(int64(code.Expires))) > time.Minute {
		t.Fatalf("the code is %+v", code)
	}
	p := &phone{site: s}
	if status := p.pair(code.Code); status != http.StatusOK || p.token == "" {
		t.Fatalf("pairing: %d", status)
	}
	raw, err := os.ReadFile(register())
	if err != nil || strings.Contains(string(raw), p.token) || strings.Contains(string(raw), code.Code) || strings.Contains(string(raw), strings.ReplaceAll(code.Code, "-", "")) {
		t.Errorf("the file has secrets: %s, %v", raw, err)
	}
	if info, err := os.Stat(register()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if status := (&phone{site: s}).pair(code.Code); status != http.StatusUnauthorized {
		t.Errorf("the code can be used twice: %d", status)
	}

	var row serve.Session
	s.must("POST", "/v1/sessions", serve.NewSession{Cwd: dir, Prompt: "write"}, &row)
	at := "/v1/sessions/" + row.ID
	s.feed(at+"/events", "").Questions(1)
	if resp := p.send("GET", "/v1/sessions", nil); resp.StatusCode != http.StatusOK || resp.Header.Get("Haft-Access") != "answer" {
		t.Errorf("the list: %s %v", resp.Status, resp.Header)
	}
	for _, c := range []struct{ method, path string }{
		{"POST", "/v1/sessions"}, {"POST", at + "/prompts"}, {"PATCH", at}, {"DELETE", at}, {"POST", at + "/rewind"}, {"POST", at + "/fork"}, {"POST", at + "/close"},
		{"GET", at + "/file?path=" + filepath.Join(dir, "private.txt")}, {"GET", "/v1/wire"}, {"GET", "/v1/devices"}, {"POST", "/v1/pairings"}, {"DELETE", "/v1/devices/x"},
	} {
		if resp := p.send(c.method, c.path, struct{}{}); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %s", c.method, c.path, resp.Status)
		}
	}
	var open serve.Questions
	if err := json.NewDecoder(p.send("GET", at+"/questions", nil).Body).Decode(&open); err != nil || len(open.Questions) != 1 {
		t.Fatalf("%+v, %v", open, err)
	}
	q := open.Questions[0]
	rule := json.RawMessage(`{"behavior":"allow","updatedPermissions":[{"type":"addRules","behavior":"allow","destination":"localSettings","rules":[{"toolName":"Write"}]}]}`)
	if resp := p.send("POST", at+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: rule}); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a rule that stays: %s", resp.Status)
	}
	events := p.send("GET", at+"/events", nil)
	p.authorization = "Basic eDp5" // of a proxy, say: it is the same device
	if resp := p.send("POST", at+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}); resp.StatusCode != http.StatusNoContent {
		t.Errorf("the answer: %s", resp.Status)
	}
	if late := s.refused("POST", at+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()}, http.StatusConflict); late.By != "the paired device iPhone" {
		t.Errorf("the question was answered by %q", late.By)
	}
	p.authorization = ""
	until(t, "file", func() bool { _, err := os.Stat(filepath.Join(dir, "a.txt")); return err == nil })
	var view serve.Timeline
	s.must("GET", at+"/timeline", nil, &view)
	if n := slices.IndexFunc(view.Items, func(i *timeline.Item) bool { return i.Call != nil }); n < 0 || view.Items[n].Call.By != "the paired device iPhone" {
		t.Errorf("the journal does not name the device: %+v", view.Items)
	}

	var list serve.DeviceList
	s.must("GET", "/v1/devices", nil, &list)
	if len(list.Devices) != 1 || list.Devices[0].Name != "iPhone" || list.Devices[0].Full || time.Until(time.UnixMilli(int64(list.Devices[0].Expires))) > 30*24*time.Hour {
		t.Fatalf("the devices are %+v", list)
	}
	s.must("DELETE", "/v1/devices/"+list.Devices[0].ID, nil, nil)
	timer := time.AfterFunc(30*time.Second, func() { events.Body.Close() })
	defer timer.Stop()
	if _, err := io.Copy(io.Discard, events.Body); err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Errorf("the stream of a revoked device: %v", err)
	}
	if !timer.Stop() {
		t.Error("a revoked device still gets events")
	}
	if resp := p.send("GET", "/v1/sessions", nil); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a revoked device: %s", resp.Status)
	}
	s.refused("DELETE", "/v1/devices/"+list.Devices[0].ID, nil, http.StatusNotFound)
}

// A code ends with its use, with the next one, with wrong ones and with time; of many that
// use it at once one is paired.
func TestACodeIsForOne(t *testing.T) {
	s := newSite(t)
	old := s.code(true)
	code := s.code(true)
	if status := (&phone{site: s}).pair(old.Code); status != http.StatusUnauthorized {
		t.Errorf("an earlier code: %d", status)
	}
	var all sync.WaitGroup
	got := make([]int, 8)
	phones := make([]*phone, len(got))
	for n := range got {
		phones[n] = &phone{site: s}
		all.Go(func() { got[n] = phones[n].pair(strings.ToLower(code.Code)) }) // as people type it
	}
	all.Wait()
	var winner *phone
	for n, status := range got {
		switch status {
		case http.StatusOK:
			if winner != nil {
				t.Error("two were paired")
			}
			winner = phones[n]
		case http.StatusUnauthorized, http.StatusTooManyRequests:
		default:
			t.Errorf("%d", status)
		}
	}
	if winner == nil {
		t.Fatalf("none was paired: %v", got)
	}
	resp := winner.send("POST", "/v1/sessions", serve.NewSession{Cwd: s.dir})
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Haft-Access") != "" {
		t.Errorf("a device that may do all: %s", resp.Status)
	}
	var row serve.Session
	if err := json.NewDecoder(resp.Body).Decode(&row); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("read"), 0o600); err != nil {
		t.Fatal(err)
	}
	if resp := winner.send("GET", "/v1/sessions/"+row.ID+"/file?path="+filepath.Join(s.dir, "a.txt"), nil); resp.StatusCode != http.StatusOK {
		t.Errorf("a device that may do all reads a file: %s", resp.Status)
	}
	if resp := winner.send("POST", "/v1/pairings", serve.NewPairing{}); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a device pairs another one: %s", resp.Status)
	}
	// A file that others could read, or that is damaged, knows no device.
	raw, err := os.ReadFile(register())
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func() error{
		"readable by others": func() error { return os.Chmod(register(), 0o644) },
		"cut":                func() error { return os.WriteFile(register(), raw[:len(raw)/2], 0o600) },
		"expired": func() error {
			var f map[string]any
			if err := json.Unmarshal(raw, &f); err != nil {
				return err
			}
			f["devices"].([]any)[0].(map[string]any)["expires"] = 1000
			out, _ := json.Marshal(f)
			return os.WriteFile(register(), out, 0o600)
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if resp := winner.send("GET", "/v1/sessions", nil); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", name, resp.Status)
		}
		if err := os.Chmod(register(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(register(), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if resp := winner.send("GET", "/v1/sessions", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("as it was: %s", resp.Status)
	}
	// Another token for the user shuts devices out, too.
	renewed, err := serve.OpenHome(filepath.Dir(register()), true)
	if err != nil {
		t.Fatal(err)
	}
	renewed.Close()
	if resp := winner.send("GET", "/v1/sessions", nil); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a device after --new-token: %s", resp.Status)
	}
}

// Codes cannot be guessed: after six wrong ones the right one is of no use, and an old one
// neither.
func TestCodesCannotBeGuessed(t *testing.T) {
	s := newSite(t)
	code := s.code(false)
	for range 6 {
		if status := (&phone{site: s}).pair("AAAAA-AAAAA"); status != http.StatusUnauthorized {
			t.Fatalf("a guess: %d", status)
		}
	}
	if status := (&phone{site: s}).pair(code.Code); status != http.StatusUnauthorized {
		t.Errorf("the right code after six wrong ones: %d", status)
	}
	code = s.code(false)
	raw, err := os.ReadFile(register())
	if err != nil {
		t.Fatal(err)
	}
	var f map[string]map[string]any
	if err := json.Unmarshal([]byte(`{"pairing":`+strings.SplitN(strings.SplitN(string(raw), `"pairing":`, 2)[1], `}`, 2)[0]+`}}`), &f); err != nil {
		t.Fatal(err)
	}
	past := strings.Replace(string(raw), f["pairing"]["expires"].(string), time.Now().Add(-time.Second).Format(time.RFC3339Nano), 1)
	if err := os.WriteFile(register(), []byte(past), 0o600); err != nil {
		t.Fatal(err)
	}
	if status := (&phone{site: s}).pair(code.Code); status != http.StatusUnauthorized {
		t.Errorf("a code after its time: %d", status)
	}
	if resp := (&phone{site: s}).send("GET", "/v1/pair?code="+s.code(false).Code, nil); resp.StatusCode == http.StatusOK {
		t.Errorf("a code in a query: %s", resp.Status)
	}
}
