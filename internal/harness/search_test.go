package harness

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/project"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/model"
)

// searcher is a model that answers with given blocks.
type searcher struct {
	blocks []string
	fails  error
	asked  *model.Request
}

func (s *searcher) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	s.asked = r
	return func(yield func(model.Event, error) bool) {
		for _, raw := range s.blocks {
			var b model.Block
			if err := json.Unmarshal([]byte(raw), &b); err != nil {
				yield(nil, err)
				return
			}
			if !yield(model.BlockStop{Block: b}, nil) {
				return
			}
		}
		if s.fails != nil {
			yield(nil, s.fails)
			return
		}
		yield(model.Stop{Usage: model.Usage{Output: 7, Searches: 1}}, nil)
	}
}

const (
	useBlock    = `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"go"}}`
	resultBlock = `{"type":"web_search_tool_result","tool_use_id":"s1","content":[
	 {"type":"web_search_result","url":"https://go.dev/","title":"Go","encrypted_content":"xyz","page_age":"April 30, 2026"},
	 {"type":"web_search_result","url":"https://go.dev/doc","title":"Docs","encrypted_content":"xyz"}]}`
	citeBlock   = `{"type":"text","text":"Go is a language.","citations":[{"type":"web_search_result_location","url":"https://go.dev/","title":"Go","cited_text":"Build simple,\n secure systems"}]}`
	failedBlock = `{"type":"web_search_tool_result","tool_use_id":"s1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`
)

func searchWith(s *searcher, q websearch.Query) (hits []websearch.Hit, seen []int, spent model.Usage, err error) {
	q.Found = func(n int) { seen = append(seen, n) }
	hits, err = providerSearch(s, "m", func(_ string, u model.Usage) { spent = u })(context.Background(), q)
	return hits, seen, spent, err
}

func TestTheProviderSearches(t *testing.T) {
	s := &searcher{blocks: []string{useBlock, resultBlock, citeBlock}}
	hits, seen, spent, err := searchWith(s, websearch.Query{Text: "go", Allowed: []string{"go.dev"}, Blocked: []string{"x.dev"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []websearch.Hit{
		{Title: "Go", URL: "https://go.dev/", Date: "April 30, 2026", Snippet: "Build simple, secure systems"},
		{Title: "Docs", URL: "https://go.dev/doc"},
	}
	if d := cmp.Diff(want, hits); d != "" {
		t.Errorf("hits (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]int{0, 2, 2}, seen); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	if spent.Searches != 1 || spent.Output != 7 {
		t.Errorf("spent %+v", spent)
	}
	if got := string(s.asked.Tools); got != `[{"type":"web_search_20250305","name":"web_search","max_uses":3,"allowed_domains":["go.dev"]}]` {
		t.Errorf("tools: %s", got)
	}
}

func TestASearchThatFailsSaysWhy(t *testing.T) {
	for _, c := range []struct {
		model *searcher
		want  string
	}{
		{&searcher{blocks: []string{useBlock, failedBlock}}, "the provider's search failed: max_uses_exceeded"},
		{&searcher{blocks: []string{`{"type":"text","text":"I know that."}`}}, "the model did not search: I know that."},
		{&searcher{fails: errors.New("overloaded")}, "overloaded"},
	} {
		if _, _, _, err := searchWith(c.model, websearch.Query{Text: "go"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	hits, _, _, err := searchWith(&searcher{blocks: []string{useBlock, `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`}}, websearch.Query{Text: "go"})
	if err != nil || hits != nil {
		t.Errorf("nothing found: %v, %v", hits, err)
	}
}

func TestOnlyAnthropicIsKnownToSearch(t *testing.T) {
	for base, want := range map[string]bool{"": true, "https://api.anthropic.com": true, "https://api.anthropic.com.evil.example": false, "http://localhost:8080": false, "https://notanthropic.com": false} {
		t.Setenv("ANTHROPIC_BASE_URL", base)
		if got := (&project.Project{Counts: settings.Of()}).ModelEnv().AsksAnthropic(); got != want {
			t.Errorf("%q: %t", base, got)
		}
	}
}
