package websearch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func found(_ context.Context, q websearch.Query) ([]websearch.Hit, error) {
	q.Found(2)
	return []websearch.Hit{
		{Title: "Generics", URL: "https://go.dev/doc/tutorial/generics", Snippet: "A tutorial.", Date: "2022-03-22"},
		{Title: "Fake", URL: "https://evil-go.dev/x"},
		{Title: "Package", URL: "https://pkg.go.dev/slices"},
	}, nil
}

func forever(ctx context.Context, _ websearch.Query) ([]websearch.Hit, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool: websearch.New(func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) {
			if q.Text == "forever" {
				return forever(ctx, q)
			}
			return found(ctx, q)
		}),
		Valid: []string{`{"query":"go generics"}`, `{"query":"x y","allowed_domains":["go.dev"],"blocked_domains":["pkg.go.dev"]}`},
		Slow:  `{"query":"forever"}`,
	})
}

func search(t *testing.T, b websearch.Backend, in string) (tool.Result, []tool.Progress, error) {
	t.Helper()
	var reports []tool.Progress
	s := websearch.New(b)
	r, err := s.Run(t.Context(), &tool.Call{Input: []byte(in), Progress: func(p tool.Progress) { reports = append(reports, p) }})
	return r, reports, err
}

func TestWhatTheModelReads(t *testing.T) {
	r, reports, err := search(t, found, `{"query":"go","allowed_domains":["GO.dev"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `Results for "go":

1. Generics
   https://go.dev/doc/tutorial/generics
   2022-03-22 A tutorial.

2. Package
   https://pkg.go.dev/slices

1 result left out because of allowed_domains or blocked_domains.`
	if d := cmp.Diff(want, r.Text()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([]tool.Progress{
		tool.WebSearchProgress{Query: "go"}, tool.WebSearchProgress{Query: "go", Results: 2}, tool.WebSearchProgress{Query: "go", Results: 2},
	}, reports); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
}

func TestBlockedDomains(t *testing.T) {
	r, _, err := search(t, found, `{"query":"go","blocked_domains":["go.dev"]}`)
	if err != nil || strings.Contains(r.Text(), "/go.dev") || strings.Contains(r.Text(), "pkg.go.dev") || !strings.Contains(r.Text(), "evil-go.dev") {
		t.Errorf("%s, %v", r.Text(), err)
	}
	s := websearch.New(found)
	for _, domain := range []string{"https://go.dev", "*.go.dev", "go.dev/doc", ""} {
		if p := s.Validate(t.Context(), &tool.Call{Input: fmt.Appendf(nil, `{"query":"go","allowed_domains":[%q]}`, domain)}); p == nil {
			t.Errorf("%q was taken for a domain", domain)
		}
	}
}

func TestWithoutABackendItIsNotOfferedAndSaysWhy(t *testing.T) {
	s := websearch.New(nil)
	if s.Enabled(new(tool.Session)) {
		t.Error("it is offered")
	}
	if !s.Enabled(&tool.Session{Flags: map[string]bool{websearch.Flag: true}}) || !websearchEnabled() {
		t.Error("it is not offered")
	}
	_, _, err := search(t, nil, `{"query":"go"}`)
	if err == nil || !strings.Contains(err.Error(), "set webSearch.endpoint in the settings") {
		t.Errorf("%v", err)
	}
}

func websearchEnabled() bool {
	s := websearch.New(found)
	return s.Enabled(new(tool.Session))
}

func TestAFailedSearchIsForTheModel(t *testing.T) {
	_, _, err := search(t, func(context.Context, websearch.Query) ([]websearch.Hit, error) {
		return nil, errors.New("the server is down")
	}, `{"query":"go"}`)
	if err == nil || err.Error() != "The search failed: the server is down. Try again, or continue without it." {
		t.Errorf("%v", err)
	}
	r, _, _ := search(t, func(context.Context, websearch.Query) ([]websearch.Hit, error) { return nil, nil }, `{"query":"go"}`)
	if r.Text() != `Nothing was found for "go".` {
		t.Errorf("%s", r.Text())
	}
}
