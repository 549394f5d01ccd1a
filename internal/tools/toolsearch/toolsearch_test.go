package toolsearch_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/toolsearch"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
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
	}, more...), &tool.SetOptions{References: true})
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
	if d := cmp.Diff([]tool.Block{{Type: tool.ReferenceBlock, Text: "WebFetch"}}, r.Content); d != "" {
		t.Errorf("an API that loads tools by reference takes nothing else in the result (-want +got):\n%s", d)
	}
	want := `There is no tool named "WebFetsh". Did you mean WebFetch?`
	if len(r.Messages) != 1 || tool.JoinText(r.Messages[0].Content) != want {
		t.Errorf("messages %+v, want %q", r.Messages, want)
	}
}

// An API without references gets what a model needs to call the tool through the door.
func TestWhatIsFoundIsDescribedInWords(t *testing.T) {
	door := toolsearch.NewDoor()
	tools := tool.NewSet(nil, []tool.Tool{toolsearch.New()}, []tool.Tool{foreign("WebFetch", "", "Fetches a page.")}, &tool.SetOptions{Door: &door})
	r := search(t, tools, `{"query":"select:WebFetch,WebFetsh"}`)
	want := "You can use these tools now.\n\nWebFetch: Fetches a page.\n" +
		`Call it as CallTool {"tool": "WebFetch", "input": …} with an input that matches {"type":"object"}` + "\n\n" +
		`There is no tool named "WebFetsh". Did you mean WebFetch?`
	if d := cmp.Diff(want, r.Text()); d != "" || len(r.Content) != 1 {
		t.Errorf("text (-want +got):\n%s", d)
	}
}

// A call through the door is that of the tool which it names. What reaches the door
// itself names none.
func TestTheDoorSaysWhichToolWasMeant(t *testing.T) {
	door := toolsearch.NewDoor()
	if err := door.Check(); err != nil {
		t.Error(err)
	}
	tools := pool()
	r, err := door.Run(t.Context(), &tool.Call{Tool: door.Name, Input: []byte(`{"tool":"WebFetsh"}`), Session: tools.Session(), Tools: tools})
	if want := `There is no tool named "WebFetsh" to call. Did you mean WebFetch?`; err != nil || !r.Failed || r.Text() != want {
		t.Errorf("%+v, %v; want %q", r, err, want)
	}
}
