package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/tools/websearch"
	"github.com/haftdev/haft/model"
)

// providerSearch searches with the provider's own tool: a model is asked to use it, and the
// results are taken from the answer. Spend is called with the cost.
func providerSearch(client model.Model, name string, spend func(string, model.Usage)) websearch.Backend {
	return func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) {
		history := new(model.History)
		ask := "Search the web once for this, and then say in one sentence what was found: " + q.Text
		if err := history.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf(ask)}}); err != nil {
			return nil, err
		}
		tools, err := json.Marshal([]providerTool{newProviderTool(q)})
		if err != nil {
			return nil, err
		}
		found := new(findings)
		said, usage, err := whole(client.Stream(ctx, &model.Request{Model: name, Tools: tools, Messages: history, MaxTokens: maxSmallAnswer}), func(b model.Block) {
			found.read(b)
			q.Found(len(found.hits))
		})
		spend(name, usage)
		if err != nil {
			return nil, err
		}
		if len(found.hits) == 0 && found.failure != "" {
			return nil, fmt.Errorf("the provider's search failed: %s", found.failure)
		}
		if !found.searched {
			return nil, errors.New("the model did not search: " + strings.TrimSpace(said))
		}
		return found.hits, nil
	}
}

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
