// Package websearch provides the WebSearch tool, which finds web pages.
//
//	search := websearch.New(func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) { … })
//
// The search backend is pluggable: a server that the user configured, or the provider's own
// search. Without a backend, the tool is not offered.
//
// Trust: the search service sees the query. Results were written by strangers and go to the
// model unchanged.
package websearch

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/tool"
)

//go:embed websearch.md
var description string

// Flag is the session flag that offers the tool even if no search backend is configured yet,
// so that a call says how to set one up.
const Flag = "web_search"

// callInput is what the model sends.
type callInput struct {
	Query   string   `json:"query" jsonschema:"What to search for." haft:"min=2;max=1000;example=go generics tutorial"`
	Allowed []string `json:"allowed_domains,omitempty" jsonschema:"Only pages from these domains." haft:"max=50"`
	Blocked []string `json:"blocked_domains,omitempty" jsonschema:"No pages from these domains." haft:"max=50"`
}

// callOutput is what programs get.
type callOutput struct {
	Query    string  `json:"query"`
	Results  []Hit   `json:"results"`
	Searches int     `json:"searchCount"`
	Seconds  float64 `json:"durationSeconds"`
	LeftOut  int     `json:"leftOut,omitempty"` // results that the domains ruled out
}

// A Hit is a page that was found.
type Hit struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
	Date    string `json:"date,omitempty"`
}

// A Query is what to search for. The tool filters by domain itself; a backend that can search
// within domains finds more.
type Query struct {
	Text             string
	Allowed, Blocked []string
	// Found may be called with the number of results so far, whenever it changes.
	Found func(n int)
}

// A Backend searches.
type Backend func(context.Context, Query) ([]Hit, error)

const (
	maxHits    = 20
	maxSnippet = 400 // characters
)

// New returns the tool. A nil backend means that no search is possible.
func New(search Backend) tool.Tool {
	return tool.New(tool.Def[callInput, callOutput]{
		Name:        "WebSearch",
		Title:       "Web Search",
		SearchHint:  "search web internet google find pages current news",
		Description: description,
		Needs:       "web search is not set up: the model's provider offers no search in this session, and the settings name no search server (the user can set webSearch.endpoint to the address of a SearXNG server)",
		Enabled:     func(s *tool.Session) bool { return search != nil || s.Flags[Flag] },
		Marks: func(callInput) tool.Marks {
			return tool.Marks{ReadOnly: true, ConcurrencySafe: true, Effect: tool.Idempotent}
		},
		Validate: func(_ context.Context, _ *tool.Call, in callInput) *tool.Problem { return in.check() },
		Classify: func(in callInput) string { return "search the web for " + in.Query },
		Run: func(ctx context.Context, c *tool.Call, in callInput) (callOutput, error) {
			if search == nil {
				return callOutput{}, tool.Errorf("Web search is not set up, so there are no results. The user can set webSearch.endpoint in the settings " +
					"to the address of a SearXNG server that answers in JSON, such as http://localhost:8888. Continue without a search, or ask the user for addresses to fetch.")
			}
			return run(ctx, c, in, search)
		},
		Render:          render,
		Summarize:       func(in callInput) string { return in.Query },
		SummarizeResult: func(out callOutput) string { return plural.Of(len(out.Results), "result") },
		Deferred:        true,
	})
}

// check finds domains that could match nothing.
func (in callInput) check() *tool.Problem {
	for _, d := range slices.Concat(in.Allowed, in.Blocked) {
		if d == "" || strings.ContainsAny(d, "/:@* \t\n") {
			return &tool.Problem{Message: fmt.Sprintf("%q is not a domain. Write it as example.com, which includes its subdomains.", d)}
		}
	}
	return nil
}

func run(ctx context.Context, c *tool.Call, in callInput, search Backend) (callOutput, error) {
	began := time.Now()
	c.Report(tool.WebSearchProgress{Query: in.Query})
	hits, err := search(ctx, Query{Text: in.Query, Allowed: in.Allowed, Blocked: in.Blocked, Found: func(n int) {
		c.Report(tool.WebSearchProgress{Query: in.Query, Results: n})
	}})
	if ctx.Err() != nil {
		return callOutput{}, ctx.Err()
	}
	if err != nil {
		return callOutput{}, tool.Errorf("The search failed: %w. Try again, or continue without it.", err)
	}
	out := callOutput{Query: in.Query, Results: []Hit{}, Searches: 1}
	for _, h := range hits {
		switch {
		case !in.wants(h.URL):
			out.LeftOut++
		case len(out.Results) < maxHits:
			out.Results = append(out.Results, h)
		}
	}
	c.Report(tool.WebSearchProgress{Query: in.Query, Results: len(out.Results)})
	out.Seconds = time.Since(began).Seconds()
	return out, nil
}

// wants reports whether a page is of the domains that are asked for.
func (in callInput) wants(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	below := func(domain string) bool {
		host, domain := strings.ToLower(u.Hostname()), strings.ToLower(domain)
		return host == domain || strings.HasSuffix(host, "."+domain)
	}
	return !slices.ContainsFunc(in.Blocked, below) && (len(in.Allowed) == 0 || slices.ContainsFunc(in.Allowed, below))
}

func render(out callOutput) tool.Result {
	var b strings.Builder
	if len(out.Results) == 0 {
		fmt.Fprintf(&b, "Nothing was found for %q.", out.Query)
	} else {
		fmt.Fprintf(&b, "Results for %q:\n", out.Query)
	}
	for i, h := range out.Results {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, h.Title, h.URL)
		if line := strings.TrimSpace(h.Date + " " + shorten.To(h.Snippet, maxSnippet)); line != "" {
			fmt.Fprintf(&b, "   %s\n", line)
		}
	}
	if out.LeftOut > 0 {
		fmt.Fprintf(&b, "\n%s left out because of allowed_domains or blocked_domains.", plural.Of(out.LeftOut, "result"))
	}
	return tool.Text(strings.TrimRight(b.String(), "\n"))
}
