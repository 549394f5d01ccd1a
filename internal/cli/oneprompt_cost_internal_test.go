package cli

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/headless"
)

// TestOnePromptCostsLittle looks at haft -p while its request is out: at most three goroutines are
// haft's, and the memory holds the prompt twice: as the argument, and in the conversation, of which the request is part.
func TestOnePromptCostsLittle(t *testing.T) {
	const size = 4 << 20
	_, base := whileAsking(t, "hello")
	stacks, heap := whileAsking(t, strings.Repeat("a prompt ", size/9))
	if len(stacks) == 0 || len(stacks) > 3 {
		t.Errorf("%d goroutines, want at most 3:\n\n%s", len(stacks), strings.Join(stacks, "\n\n"))
	}
	if copies := (float64(heap) - float64(base)) / size; copies < 0.5 || copies > 3.5 {
		t.Errorf("the memory holds the prompt %.1f times, want at most twice", copies)
	}
}

// whileAsking answers a prompt as haft -p does. It returns the stacks of haft's goroutines, and the
// bytes in use, as they are while the server has not read the request.
func whileAsking(t *testing.T, prompt string) (stacks []string, heap uint64) {
	t.Helper()
	s := newAlikeStage(t)
	model, err := url.Parse(s.srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(model)
	before := goroutines() // what other tests have left
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for id, stack := range goroutines() {
			if before[id] == "" && strings.Contains(stack, "created by github.com/haftdev/haft/") && !strings.Contains(stack, "haft/model/script") {
				stacks = append(stacks, stack)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap = m.HeapAlloc
		forward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	t.Setenv("ANTHROPIC_BASE_URL", proxy.URL)
	s.opts.OneAnswer, s.opts.ResultOnly = true, true
	heard, done := new(messages), make(chan struct{})
	go func() {
		defer close(done)
		headless.Answer(t.Context(), prompt, s.opts, heard)
	}()
	<-done
	if heard.result.Result != reply {
		t.Errorf("the result is %q %q", heard.result.Result, heard.result.Errors)
	}
	return stacks, heap
}

// goroutines are the stacks of all goroutines, by their names.
func goroutines() map[string]string {
	text := make([]byte, 8<<20)
	text = text[:runtime.Stack(text, true)]
	all := map[string]string{}
	for stack := range strings.SplitSeq(string(text), "\n\n") {
		name, _, _ := strings.Cut(stack, " [")
		all[name] = stack
	}
	return all
}
