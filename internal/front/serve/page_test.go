package serve_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/haftdev/haft/internal/front/serve/servetest"
)

// A file that is stored compressed is sent so to clients that understand it, and as it is to
// others. Caches can tell the two apart.
func TestFilesAreSentInTheEncodingOfTheClient(t *testing.T) {
	servetest.Home(t)
	const script = "let a = 1;\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, script)
	w.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := siteOptions(t, servetest.Scripted(t))
	o.Files = fstest.MapFS{"app.js.gz": {Data: packed.Bytes()}}
	s := runSite(t, l, o)
	get := func(encoding, known string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest("GET", s.url+"/app.js", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", encoding)
		r.Header.Set("If-None-Match", known)
		resp, err := http.DefaultTransport.RoundTrip(r) // which leaves the encoding alone
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q, %q: Vary is %q", encoding, known, resp.Header.Get("Vary"))
		}
		return resp, string(raw)
	}
	tags := map[bool]string{}
	for encoding, want := range map[string]bool{
		"gzip": true, "gzip, deflate, br": true, "*": true, "GZIP;q=0.5": true, "br;q=1.0, *;q=0.1": true,
		"identity": false, "gzip;q=0": false, "gzip; q=0.0, *": false, "*;q=0": false, "br": false, "x-gzipped": false, "gzip;q=x": false,
	} {
		resp, body := get(encoding, "")
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != want || want != (body == packed.String()) || !want && body != script {
			t.Errorf("%q: encoding %q, body %q", encoding, resp.Header.Get("Content-Encoding"), body)
		}
		if tag := resp.Header.Get("ETag"); tags[want] != "" && tags[want] != tag || tag == "" {
			t.Errorf("%q: the tag is %s, not %s", encoding, tag, tags[want])
		}
		tags[want] = resp.Header.Get("ETag")
	}
	if tags[true] == tags[false] {
		t.Errorf("both encodings have the tag %s", tags[true])
	}
	for known, status := range map[string]int{
		tags[true]: 304, "W/" + tags[true]: 304, `"other", ` + tags[true]: 304, "*": 304, tags[false]: 200, `"other"`: 200,
	} {
		if resp, _ := get("gzip", known); resp.StatusCode != status {
			t.Errorf("a client that has %s gets %d, want %d", known, resp.StatusCode, status)
		}
	}
}
