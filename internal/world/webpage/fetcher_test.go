package webpage

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/encoding/japanese"
)

func TestPrivateHostsAreAllowedByName(t *testing.T) {
	for _, c := range []struct {
		permit, host string
		want         bool
	}{
		{"localhost", "localhost", true}, {"localhost", "LOCALHOST.", true}, {"localhost:3000", "localhost", false}, {"localhost:80", "localhost", true},
		{"*.corp.example", "git.corp.example", true}, {"*.corp.example", "corp.example", false}, {"*.corp.example", "evilcorp.example", false}, {"localhost", "notlocalhost", false},
		{"[::1]:80", "x", false}, {"10.0.0.0/8", "x", true}, {"10.1.1.1", "x", true},
	} {
		p, err := parsePermit(c.permit)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.covers(c.host, dialled{netip.MustParseAddr("10.1.1.1"), "80"}); got != c.want {
			t.Errorf("%s covers %s: %t", c.permit, c.host, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"https://Example.COM/A#b": "https://example.com/A",
		" http://x/ ":             "http://x/",
		"ftp://x/":                "http:// or https://",
		"example.com":             "http:// or https://",
		"http://":                 "has no host",
		"http://a:b@c/":           "user name or password",
		"http://[::1":             "the address is not valid",
	} {
		u, err := parse(address)
		if err == nil && u.String() != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", address, u, err, want)
		}
	}
}

func TestCharsets(t *testing.T) {
	japan, err := japanese.ShiftJIS.NewEncoder().String("これは日本語の文章です。文字コードを確かめます。")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, raw, contentType, want string }{
		{"UTF-8 that is declared", "Grüße", "text/plain; charset=utf-8", "Grüße"},
		{"UTF-8 that is declared as something else", "Grüße", "text/plain; charset=iso-8859-1", "Grüße"},
		{"Latin-1 that is declared", "Gr\xfc\xdfe", "text/plain; charset=iso-8859-1", "Grüße"},
		{"Latin-1 by the page itself", `<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">Gr` + "\xfc\xdfe", "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">Grüße`},
		{"Shift_JIS that is declared as UTF-8", japan, "text/plain; charset=utf-8", "これは日本語の文章です。文字コードを確かめます。"},
		{"Shift_JIS that is declared", japan, "text/html; charset=Shift_JIS", "これは日本語の文章です。文字コードを確かめます。"},
		{"UTF-16 with a mark", "\xff\xfeG\x00r\x00", "text/plain", "Gr"},
		{"a mark that is dropped", "\xef\xbb\xbfx", "text/plain; charset=iso-8859-1", "x"},
		{"a charset that nobody knows", "plain", "text/plain; charset=klingon", "plain"},
		{"nothing", "", "text/plain", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := decode([]byte(c.raw), c.contentType)
			if !ok || got != c.want {
				t.Errorf("got %q, %t, want %q", got, ok, c.want)
			}
		})
	}
	if _, ok := decode([]byte("\x7fELF\x02\x01\x01\x00\x00\x00"), "text/plain"); ok {
		t.Error("a program was taken for text")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xff\xfeG\x00"), "text/html; charset=utf-16")
	f.Add([]byte("<meta charset=shift_jis>\x83"), "text/html")
	f.Fuzz(func(t *testing.T, raw []byte, contentType string) {
		if text, _ := decode(raw, contentType); strings.ToValidUTF8(text, "") != text {
			t.Errorf("not UTF-8: %q", text)
		}
	})
}

func TestKinds(t *testing.T) {
	s := newTraps(t)
	bodies := map[string]struct{ contentType, body string }{
		"/html": {"text/html", "<title>T</title><p>Hello <a href=/x>you</a>"},
		"/json": {"application/json", `{"a":[1,2]}`},
		"/deep": {"application/json", strings.Repeat("[", 5000) + strings.Repeat("]", 5000)},
		"/text": {"text/plain", "<p>as it is\r\nhere"},
		"/pdf":  {"text/html", "%PDF-1.7 …"},
		"/png":  {"application/octet-stream", "\x89PNG\r\n\x1a\n…"},
		"/exe":  {"application/octet-stream", "\x7fELF\x02\x01\x01\x00\x00\x00\x00"},
		"/bare": {"", "just words"},
	}
	for path, b := range bodies {
		s.handle(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", b.contentType)
			io.WriteString(w, b.body)
		})
	}
	f := s.fetcher(t, nil)
	for path, want := range map[string]Page{
		"/html": {MediaType: "text/html", Title: "T", Text: "Hello [you](" + s.URL + "/x)"},
		"/json": {MediaType: "application/json", Text: "{\n \"a\": [\n  1,\n  2\n ]\n}"},
		"/deep": {MediaType: "application/json", Text: bodies["/deep"].body},
		"/text": {MediaType: "text/plain", Text: "<p>as it is\nhere"},
		"/pdf":  {MediaType: "application/pdf", Kind: PDF},
		"/png":  {MediaType: "image/png", Kind: Image},
		"/bare": {MediaType: "text/plain", Text: "just words"},
	} {
		p, err := f.Get(t.Context(), s.URL+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p.MediaType != want.MediaType || p.Title != want.Title || p.Text != want.Text || p.Kind != want.Kind || (p.Kind != Text) != (len(p.Data) > 0) {
			t.Errorf("%s: %+v", path, p)
		}
	}
	_, err := f.Get(t.Context(), s.URL+"/exe")
	wantError(t, err, "cannot be shown as text")
}

func TestAPageIsKept(t *testing.T) {
	s := newTraps(t)
	var mu sync.Mutex
	hits := 0
	address := s.handle("/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hits++
		if r.URL.RawQuery != "" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	f := s.fetcher(t, nil)
	for range 3 {
		if _, err := f.Get(t.Context(), address); err != nil {
			t.Fatal(err)
		}
	}
	if hits != 1 {
		t.Errorf("%d requests for one page", hits)
	}
	for range 2 {
		if p, err := f.Get(t.Context(), address+"?missing"); err != nil || p.Status != http.StatusNotFound {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if hits != 3 {
		t.Errorf("%d requests: a page that was not there is not kept", hits)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c cache
		big := &Page{Text: strings.Repeat("x", maxKeptBytes/2)}
		c.put("a", big, time.Minute)
		c.put("b", big, time.Minute)
		c.put("c", &Page{Text: "x"}, time.Hour)
		if c.get("a") != nil || c.get("b") == nil || c.get("c") == nil {
			t.Error("the oldest page should make room, and only that")
		}
		time.Sleep(2 * time.Minute)
		if c.get("b") != nil || c.get("c") == nil {
			t.Error("a page is kept for its time and no longer")
		}
		for i := range 2 * maxKept {
			c.put(strings.Repeat("y", i), &Page{}, time.Hour)
		}
		if len(c.pages) > maxKept {
			t.Errorf("%d pages are kept", len(c.pages))
		}
	})
}
