package harness

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/model"
)

// providerTool is the provider's search as it is named in a request. It accepts only one of
// the two lists.
type providerTool struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	MaxUses int      `json:"max_uses"`
	Allowed []string `json:"allowed_domains,omitempty"`
	Blocked []string `json:"blocked_domains,omitempty"`
}

func newProviderTool(q websearch.Query) providerTool {
	t := providerTool{Type: "web_search_20250305", Name: "web_search", MaxUses: 3, Allowed: q.Allowed}
	if len(t.Allowed) == 0 {
		t.Blocked = q.Blocked
	}
	return t
}

// findings are what the blocks of an answer hold of a search.
type findings struct {
	hits     []websearch.Hit
	searched bool
	failure  string
}

// read processes one block: results of a search, or text that cites them.
func (f *findings) read(b model.Block) {
	if b.Raw == nil {
		return
	}
	var block struct {
		Type      string          `json:"type"`
		Content   json.RawMessage `json:"content"`
		Citations []struct {
			URL  string `json:"url"`
			Text string `json:"cited_text"`
		} `json:"citations"`
	}
	if json.Unmarshal(b.Raw, &block) != nil {
		return
	}
	if block.Type == "web_search_tool_result" {
		f.results(block.Content)
	}
	for _, c := range block.Citations {
		f.cite(c.URL, c.Text)
	}
}

// results parses a list of results, or the error that is there instead.
func (f *findings) results(content json.RawMessage) {
	f.searched = true
	var list []struct {
		URL   string `json:"url"`
		Title string `json:"title"`
		Age   string `json:"page_age"`
	}
	if json.Unmarshal(content, &list) != nil {
		var problem struct {
			Code string `json:"error_code"`
		}
		if json.Unmarshal(content, &problem) == nil {
			f.failure = problem.Code
		}
		return
	}
	for _, r := range list {
		if r.URL != "" {
			f.hits = append(f.hits, websearch.Hit{Title: r.Title, URL: r.URL, Date: r.Age})
		}
	}
}

// cite adds what an answer quotes of a page.
func (f *findings) cite(address, text string) {
	for i := range f.hits {
		if f.hits[i].URL == address && !strings.Contains(f.hits[i].Snippet, text) {
			f.hits[i].Snippet = strings.Join(strings.Fields(f.hits[i].Snippet+" "+text), " ")
			return
		}
	}
}
