package toolsearch_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
	"github.com/haftdev/haft/tool/toolsearch"
	"github.com/haftdev/haft/tool/tooltest"
)

func foreign(name, hint, description string) tool.Tool {
	s, err := schema.Parse(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		panic(err)
	}
	return tool.Tool{
		Name: name, SearchHint: hint, Describe: func(*tool.Session) string { return description }, Input: s,
		Run:      func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("ran"), nil },
		Deferred: true, Source: "mcp:test",
	}
}

func pool(more ...tool.Tool) *tool.Set {
	return tool.NewSet(nil, []tool.Tool{toolsearch.New()}, append([]tool.Tool{
		foreign("mcp__slack__send_message", "", "Send a message to a channel. Needs the channel's id."),
		foreign("mcp__slack__list_channels", "", "List the channels of the workspace."),
		foreign("mcp__github__createIssue", "", "Open an issue in a repository."),
		foreign("mcp__github__list_issues", "", "List the issues of a repository."),
		foreign("WebFetch", "http url download page", "Fetches a page and reads it."),
		foreign("NotebookEdit", "jupyter ipynb cell", "Changes a cell of a notebook."),
	}, more...), nil)
}

func search(t *testing.T, tools *tool.Set, in string) tool.Result {
	t.Helper()
	search := tools.Lookup(tool.SearchName)
	r, err := search.Run(t.Context(), &tool.Call{Tool: search.Name, Input: []byte(in), Session: tools.Session(), Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool: toolsearch.New(), Tools: pool(),
		Valid: []string{`{"query":"slack"}`, `{"query":"select:WebFetch","max_results":1}`, `{"query":"+x"}`},
	})
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"names are found by select", `{"query":"select:NotebookEdit,WebFetch"}`, []string{"NotebookEdit", "WebFetch"}},
		{"a word of the name counts most", `{"query":"send slack","max_results":2}`, []string{"mcp__slack__send_message", "mcp__slack__list_channels"}},
		{"camel case is two words", `{"query":"create","max_results":1}`, []string{"mcp__github__createIssue"}},
		{"a hint finds what the description does not say", `{"query":"jupyter"}`, []string{"NotebookEdit"}},
		{"a word after + must be there", `{"query":"+github list"}`, []string{"mcp__github__list_issues", "mcp__github__createIssue"}},
		{"a beginning of a word is enough", `{"query":"notebooks"}`, []string{"NotebookEdit"}},
		{"signs are no words", `{"query":"+ ... !"}`, []string{}},
		{"words of every sentence count if there are no others", `{"query":"in","max_results":1}`, []string{"mcp__github__createIssue"}},
		{"nothing is found where nothing is", `{"query":"teleport"}`, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := search(t, pool(), c.in).Output.(toolsearch.Output)
			if d := cmp.Diff(c.want, out.Matches); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWhatIsFoundIsRevealed(t *testing.T) {
	r := search(t, pool(), `{"query":"select:WebFetch,WebFetsh"}`)
	if d := cmp.Diff(&tool.Change{Reveal: []string{"WebFetch"}}, r.Change); d != "" {
		t.Errorf("change (-want +got):\n%s", d)
	}
	want := "You can use these tools now:\nWebFetch: Fetches a page and reads it.\n" +
		`There is no tool named "WebFetsh". Did you mean WebFetch?`
	if d := cmp.Diff(want, r.Text()); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	if last := r.Content[len(r.Content)-1]; last.Type != tool.ReferenceBlock || last.Text != "WebFetch" {
		t.Errorf("last block: %+v", last)
	}
}
