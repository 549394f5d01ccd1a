package searxng_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/webpage/searxng"
)

// answer is one of a real server, shortened.
const answer = `{"query":"go generics","number_of_results":0,"results":[
 {"url":"https://go.dev/doc/tutorial/generics","title":"Tutorial: Getting started\n with generics","content":"This tutorial introduces  the basics.","publishedDate":null,"engine":"duckduckgo","score":4.0,"category":"general"},
 {"url":"https://go.dev/blog/intro-generics","title":"An Introduction To Generics","content":"","publishedDate":"2022-03-22T00:00:00","engine":"brave"},
 {"url":"javascript:alert(1)","title":"No page","content":""}],
 "answers":[],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[["google","timeout"]]}`

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func TestSearch(t *testing.T) {
	var asked string
	address := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		io.WriteString(w, answer)
	})
	for _, endpoint := range []string{address, address + "/", address + "/search"} {
		c, err := searxng.New(endpoint, nil)
		if err != nil {
			t.Fatal(err)
		}
		hits, err := c.Search(t.Context(), "go & generics")
		if err != nil {
			t.Fatal(err)
		}
		want := []searxng.Hit{
			{Title: "Tutorial: Getting started with generics", URL: "https://go.dev/doc/tutorial/generics", Snippet: "This tutorial introduces the basics."},
			{Title: "An Introduction To Generics", URL: "https://go.dev/blog/intro-generics", Date: "2022-03-22"},
		}
		if d := cmp.Diff(want, hits); d != "" {
			t.Errorf("hits (-want +got):\n%s", d)
		}
		if asked != "/search?format=json&q=go+%26+generics" {
			t.Errorf("%s was asked %s", endpoint, asked)
		}
	}
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	for want, h := range map[string]http.HandlerFunc{
		"add json to search.formats":         func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"answered 429 Too Many Requests":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"did not answer as a SearXNG server": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"is larger than":                     func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat(" ", 9<<20)) },
		"redirects to http://other.example/x;": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.example/x", http.StatusFound)
		},
		"did not answer within 100ms": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		opts := &searxng.Options{}
		if strings.Contains(want, "within") {
			opts.Timeout = 100 * time.Millisecond
		}
		c, err := searxng.New(server(t, h), opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Search(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, bad := range []string{"", "localhost:8888", "ftp://x", "http://"} {
		if _, err := searxng.New(bad, nil); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
