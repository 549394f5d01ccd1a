package webfetch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/tools/webfetch"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// site is a server with a page of each kind.
func site(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	text := func(path, contentType, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, body)
		})
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 3000, 10))); err != nil {
		t.Fatal(err)
	}
	var long strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&long, "Line %d of a löng page.\n", i)
	}
	text("/page", "text/html", "<title>A page</title><h1>Hello</h1><p>See <a href=/x>this</a>.")
	text("/long", "text/plain; charset=utf-8", long.String())
	text("/picture", "image/png", picture.String())
	text("/broken", "image/png", picture.String()[:40])
	text("/paper", "application/pdf", "%PDF-1.7 paper")
	text("/app", "text/html", "<div id=root></div><script>start()</script>")
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example/", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "No such page, try /page.", http.StatusNotFound)
	})
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func fetcher(t *testing.T) *webpage.Fetcher {
	t.Helper()
	f, err := webpage.New(&webpage.Options{Private: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fetch(t *testing.T, tl tool.Tool, in webfetch.Input) (tool.Result, error) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return tl.Run(t.Context(), &tool.Call{Input: raw})
}

func TestConformance(t *testing.T) {
	url := site(t)
	tooltest.Run(t, tooltest.Subject{
		Tool:  webfetch.New(fetcher(t), nil),
		Valid: []string{`{"url":"` + url + `/page"}`, `{"url":"` + url + `/long","prompt":"What?","offset":100}`, `{"url":"` + url + `/picture"}`, `{"url":"` + url + `/moved"}`},
		Slow:  `{"url":"` + url + `/slow"}`,
	})
}

func TestWhatTheModelReads(t *testing.T) {
	url := site(t)
	fetches := webfetch.New(fetcher(t), nil)
	for path, want := range map[string]string{
		"/page":    "From " + url + "/page (A page):\n\n# Hello\n\nSee [this](" + url + "/x).",
		"/moved":   url + "/moved redirects to another host; the redirect was not followed. To read that page, call WebFetch with the address https://elsewhere.example/",
		"/app":     "From " + url + "/app:\n\n\n\n[The page has no text. It may need a browser that runs its scripts.]",
		"/picture": "From " + url + "/picture:\n\nan image of 3000×10 pixels, shown at 1568×5",
		"/paper":   "From " + url + "/paper:\n\na PDF of 14 bytes",
		"/missing": url + "/missing answered 404 Not Found. It says:\nNo such page, try /page.",
		"/broken":  url + "/broken is an image that cannot be shown: unexpected EOF.",
	} {
		r, err := fetch(t, fetches, webfetch.Input{URL: url + path})
		got := r.Text()
		var forModel *tool.Error
		if errors.As(err, &forModel) {
			got = forModel.Message
		} else if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", path, got, want)
		}
	}
}

func TestImagesAndDocumentsAreBlocks(t *testing.T) {
	url := site(t)
	fetches := webfetch.New(fetcher(t), nil)
	for path, want := range map[string]tool.Block{
		"/picture": {Type: tool.ImageBlock, MediaType: "image/png"},
		"/paper":   {Type: tool.DocumentBlock, MediaType: "application/pdf"},
	} {
		r, err := fetch(t, fetches, webfetch.Input{URL: url + path})
		if err != nil || len(r.Content) != 2 || r.Content[1].Type != want.Type || r.Content[1].MediaType != want.MediaType || len(r.Content[1].Data) == 0 {
			t.Errorf("%s: %+v, %v", path, r.Content, err)
		}
	}
}

func TestALongPageIsReadInParts(t *testing.T) {
	url := site(t)
	fetches := webfetch.New(fetcher(t), &webfetch.Options{PageSize: 10_000})
	var whole strings.Builder
	offset, calls := 0, 0
	for {
		r, err := fetch(t, fetches, webfetch.Input{URL: url + "/long", Offset: offset})
		if err != nil {
			t.Fatal(err)
		}
		out := r.Output.(webfetch.Output)
		whole.WriteString(out.Result)
		calls++
		if !strings.Contains(out.Note, "To continue") {
			break
		}
		if !strings.HasSuffix(out.Result, "\n") {
			t.Errorf("a part ends inside a line: %q", out.Result[len(out.Result)-20:])
		}
		fmt.Sscanf(out.Note[strings.LastIndex(out.Note, "offset"):], "offset %d", &offset)
	}
	if calls < 5 || strings.Count(whole.String(), "\n") != 3000 || !strings.HasSuffix(whole.String(), "Line 2999 of a löng page.\n") {
		t.Errorf("%d calls, %d lines", calls, strings.Count(whole.String(), "\n"))
	}
	_, err := fetch(t, fetches, webfetch.Input{URL: url + "/long", Offset: 1_000_000})
	if err == nil || !strings.Contains(err.Error(), "Call WebFetch with a smaller offset.") {
		t.Errorf("beyond the end: %v", err)
	}
}

func TestASmallModelAnswersThePrompt(t *testing.T) {
	url := site(t)
	var asked webfetch.Question
	answer := "It says hello."
	var fails error
	fetches := webfetch.New(fetcher(t), &webfetch.Options{Answer: func(_ context.Context, q webfetch.Question) (string, error) {
		asked = q
		return answer, fails
	}})
	r, err := fetch(t, fetches, webfetch.Input{URL: url + "/page", Prompt: "What does it say?"})
	if err != nil || !strings.HasSuffix(r.Text(), "\n\nIt says hello.") {
		t.Errorf("%s, %v", r.Text(), err)
	}
	if asked.Prompt != "What does it say?" || asked.Title != "A page" || !strings.HasPrefix(asked.Text, "# Hello") {
		t.Errorf("asked %+v", asked)
	}
	if r, _ := fetch(t, fetches, webfetch.Input{URL: url + "/page"}); !strings.Contains(r.Text(), "# Hello") {
		t.Errorf("without a prompt: %s", r.Text())
	}
	fails = errors.New("overloaded")
	r, err = fetch(t, fetches, webfetch.Input{URL: url + "/page", Prompt: "What?"})
	if err != nil || !strings.Contains(r.Text(), "# Hello") || !strings.Contains(r.Text(), "could not be answered (overloaded), so this is the page itself") {
		t.Errorf("%s, %v", r.Text(), err)
	}
}

func TestAPrivateAddressSaysWhoCanAllowIt(t *testing.T) {
	f, err := webpage.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	url := site(t)
	_, err = fetch(t, webfetch.New(f, nil), webfetch.Input{URL: url + "/page"})
	want := "Could not fetch " + url + "/page: 127.0.0.1 is not on the public internet. Only the user can allow that, with the setting webFetch.allowPrivate."
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestABadAddressIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	f := webfetch.New(fetcher(t), nil)
	p := f.Validate(t.Context(), &tool.Call{Input: []byte(`{"url":"file:///etc/passwd"}`)})
	if p == nil || p.Message != `Could not fetch "file:///etc/passwd": the address must start with http:// or https://.` {
		t.Errorf("%+v", p)
	}
}

// TestAPrivateAddressIsRefusedBeforeAnybodyIsAsked: no rule about the domain would help.
func TestAPrivateAddressIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	for _, c := range []struct {
		url     string
		private []string
		refused bool
	}{
		{"http://localhost:8080/", nil, true},
		{"http://127.0.0.1/", nil, true},
		{"http://[::1]:9/", nil, true},
		{"http://10.1.2.3/", nil, true},
		{"https://example.com/", nil, false},
		{"http://localhost:8080/", []string{"localhost:8080"}, false},
		{"http://localhost:8080/", []string{"127.0.0.0/8"}, false},
		{"http://localhost:8081/", []string{"localhost:8080"}, true},
	} {
		web, err := webpage.New(&webpage.Options{Private: c.private})
		if err != nil {
			t.Fatal(err)
		}
		fetch := webfetch.New(web, nil)
		p := fetch.Validate(t.Context(), &tool.Call{Tool: "WebFetch", Input: json.RawMessage(`{"url":"` + c.url + `"}`)})
		if (p != nil) != c.refused || p != nil && !strings.Contains(p.Message, "webFetch.allowPrivate") {
			t.Errorf("%s with %v: %+v", c.url, c.private, p)
		}
	}
}
