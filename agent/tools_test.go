package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/tools/toolsearch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A toolbox is tools for conversations whose tools change.
type toolbox struct {
	opts tool.SetOptions
	ran  []string
}

func newToolbox(references bool) *toolbox {
	door := toolsearch.NewDoor()
	return &toolbox{opts: tool.SetOptions{References: references, Late: true, Door: &door}}
}

func (b *toolbox) tool(name, source string) tool.Tool {
	t := raw(name, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		b.ran = append(b.ran, name+" "+string(c.Input))
		return tool.Text(name + " ran"), nil
	})
	t.Source, t.Deferred = source, source == ""
	return t
}

// set has two deferred tools, and the foreign ones that are named.
func (b *toolbox) set(foreign ...string) *tool.Set {
	var theirs []tool.Tool
	for _, name := range foreign {
		theirs = append(theirs, b.tool(name, "mcp:s"))
	}
	return tool.NewSet(nil, []tool.Tool{toolsearch.New(), b.tool("Sleep", ""), b.tool("Walk", "")}, theirs, &b.opts)
}

func called(name, input string) script.Turn {
	return script.Turn{Blocks: []script.Block{{Thinking: "Hm."}, {Tool: name, Input: json.RawMessage(input)}}}
}

// cached returns the parts of a request in the order in which a provider caches them: the
// tools that are loaded, the system prompt, the messages.
func cached(t testing.TB, body []byte) []string {
	t.Helper()
	var r struct {
		Tools    []map[string]any `json:"tools"`
		System   []map[string]any `json:"system"`
		Messages []struct {
			Role    string           `json:"role"`
			Content []map[string]any `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	var parts []string
	add := func(v map[string]any) {
		delete(v, "cache_control")
		part, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(part))
	}
	for _, v := range r.Tools {
		if v["defer_loading"] == nil {
			add(v)
		}
	}
	for _, v := range r.System {
		add(v)
	}
	for _, m := range r.Messages {
		for _, v := range m.Content {
			add(v)
		}
	}
	return parts
}

// Tools that are found, and servers that come late, leave what the provider has cached as
// it is, can be called at the next request, and are described as the API wants.
func TestToolsThatJoinAConversationInFlight(t *testing.T) {
	for _, references := range []bool{true, false} {
		t.Run(fmt.Sprint("references ", references), func(t *testing.T) {
			box := newToolbox(references)
			var a *agent.Agent
			use := func(name, input string) script.Turn {
				if !references {
					input, name = fmt.Sprintf(`{"tool":%q,"input":%s}`, name, input), tool.DoorName
				}
				return called(name, input)
			}
			turns := []script.Turn{
				called("ToolSearch", `{"query":"select:Sleep"}`), use("Sleep", `{}`),
				called("ToolSearch", `{"query":"select:mcp__s__late,Nothing"}`), use("mcp__s__late", `{}`),
				{Blocks: []script.Block{{Text: "Done."}}},
			}
			srv, err := scripttest.Serve(t, &script.Options{Answer: func(r *script.Request) script.Turn {
				if r.Turn == 1 { // while the turn runs
					if err := a.SetTools(box.set("mcp__s__early", "mcp__s__late")); err != nil {
						t.Error(err)
					}
				}
				return turns[r.Turn]
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			o := &agent.Options{
				Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: "claude-opus-5-5",
				System: []model.System{{Text: strings.Repeat("Be good. ", 2000), Cache: true}}, Tools: box.set("mcp__s__early"), Sched: sched.Options{Judge: allow},
			}
			a = start(t, o)
			if got := result(t, run(t, a, "go")); got.Text != "Done." {
				t.Fatalf("%+v", got)
			}
			if want := []string{"Sleep {}", "mcp__s__late {}"}; !slices.Equal(box.ran, want) {
				t.Errorf("ran %q, want %q", box.ran, want)
			}
			var before []string
			for i, r := range srv.Requests() {
				now := cached(t, r.Body)
				if i > 0 && !slices.Equal(now[:min(len(before), len(now))], before) {
					t.Errorf("request %d does not begin like the one before it", i)
				}
				before = now
			}
			last := srv.Requests()[4]
			if got := strings.Contains(last.Header.Get("Anthropic-Beta"), "advanced-tool-use-2025-11-20"); got != references {
				t.Errorf("beta %q", last.Header.Get("Anthropic-Beta"))
			}
			if got := strings.Count(string(last.Body), `"tool_reference"`); got != 2 && references || got != 0 && !references {
				t.Errorf("%d references", got)
			}
		})
	}
}

// A server that takes no references to tools does not lock the session: it continues
// without them, now and when it is resumed, and the user is told.
func TestAServerThatRefusesReferences(t *testing.T) {
	box := newToolbox(true)
	j := session.Memory("")
	refusing := func(r *script.Request) script.Turn {
		if strings.Contains(string(r.Body), "tool_reference") || strings.Contains(string(r.Body), "defer_loading") {
			return script.Turn{Fault: script.Fault{Status: 400, Message: "tools.3.custom.defer_loading: Extra inputs are not permitted"}}
		}
		return []script.Turn{called("ToolSearch", `{"query":"select:Sleep"}`), called("Sleep", `{}`), called("ToolSearch", `{"query":"select:Walk"}`),
			called("CallTool", `{"tool":"Walk","input":{}}`), {Blocks: []script.Block{{Text: "Done."}}}}[r.Turn]
	}
	srv, err := scripttest.Serve(t, &script.Options{Answer: refusing})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	o := &agent.Options{Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: "claude-sonnet-4-5", Tools: box.set(), Journal: j, Sched: sched.Options{Judge: allow}}
	evs := run(t, start(t, o), "go")
	if got := result(t, evs); got.Text != "Done." {
		t.Fatalf("%+v", got)
	}
	if want := []string{"Sleep {}", "Walk {}"}; !slices.Equal(box.ran, want) {
		t.Errorf("ran %q, want %q", box.ran, want)
	}
	told := slices.ContainsFunc(evs, func(ev agent.Event) bool {
		n, ok := ev.(agent.Notice)
		return ok && strings.Contains(n.Text, "does not support tool references")
	})
	if !told {
		t.Error("nobody was told")
	}
}

// A reference to a tool that is not there any more is filtered when a session is resumed.
func TestReferencesToToolsThatAreGone(t *testing.T) {
	var h model.History
	found := func(id string, names ...string) model.Block {
		b := model.Block{Type: model.ToolResult, UseID: id}
		for _, n := range names {
			b.Content = append(b.Content, tool.Block{Type: tool.ReferenceBlock, Text: n})
		}
		return b
	}
	mixed := found("c", "Walk") // as haft has written them once
	mixed.Content = append([]tool.Block{{Type: tool.TextBlock, Text: "You can use these tools now."}}, mixed.Content...)
	search := func(id string) model.Message {
		return model.Message{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: id, Name: "ToolSearch", Input: json.RawMessage(`{}`)}}}
	}
	answer := func(b model.Block) model.Message { return model.Message{Role: model.User, Content: []model.Block{b}} }
	if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf("go")}},
		search("a"), answer(found("a", "mcp__gone__x")), search("b"), answer(found("b", "Sleep", "mcp__gone__x")), search("c"), answer(mixed),
	); err != nil {
		t.Fatal(err)
	}
	for _, references := range []bool{true, false} {
		srv, err := scripttest.Serve(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		o := &agent.Options{
			Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: "claude-opus-5-5",
			Tools: newToolbox(references).set(), History: &h, Revealed: []string{"mcp__gone__x", "Sleep", "Walk"},
		}
		if got := result(t, run(t, start(t, o), "continue")); got.Reason != agent.Completed {
			t.Errorf("references %v: %+v", references, got)
		}
		body := string(srv.Requests()[0].Body)
		if !strings.Contains(body, "mcp__gone__x was found, but is no longer available") || strings.Contains(body, `"tool_name":"mcp__gone__x"`) {
			t.Errorf("references %v: %s", references, body)
		}
	}
}

// cachedShare plays a session of 30 requests with two searches and a late server, and
// returns how much of what is sent the provider has cached: what each request has in
// common with the one before it, in the order tools, system, messages.
func cachedShare(t testing.TB, references bool) float64 {
	box := newToolbox(references)
	var a *agent.Agent
	big := raw("Read", func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text(strings.Repeat("a line of a file\n", 60)), nil
	})
	pool := func(foreign ...string) *tool.Set { return box.set(foreign...).Append(big) }
	srv, err := scripttest.Serve(t, &script.Options{Answer: func(r *script.Request) script.Turn {
		switch r.Turn {
		case 5:
			return called("ToolSearch", `{"query":"select:Sleep"}`)
		case 10:
			if err := a.SetTools(pool("mcp__s__early", "mcp__s__late")); err != nil {
				t.Error(err)
			}
		case 15:
			return called("ToolSearch", `{"query":"select:mcp__s__late"}`)
		case 29:
			return script.Turn{Blocks: []script.Block{{Text: "Done."}}}
		}
		return called("Read", `{}`)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	a = start(t, &agent.Options{
		Model: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "none"}), ModelName: "claude-opus-5-5", Sched: sched.Options{Judge: allow},
		System: []model.System{{Text: strings.Repeat("Be good. ", 2000), Cache: true}}, Tools: pool("mcp__s__early"),
		Repeats: sched.RepeatLimits{Nudge: -1, Stop: -1},
	})
	if res := result(t, run(t, a, "go")); res.Text != "Done." {
		t.Fatalf("%+v", res)
	}
	var before []string
	all, known := 0, 0
	for _, r := range srv.Requests() {
		now := cached(t, r.Body)
		same := true
		for i, part := range now {
			same = same && i < len(before) && before[i] == part
			if same {
				known += len(part)
			}
			all += len(part)
		}
		before = now
	}
	return 100 * float64(known) / float64(all)
}

func TestMostOfASessionIsCached(t *testing.T) {
	for _, references := range []bool{true, false} {
		share := cachedShare(t, references)
		t.Logf("references %v: %.1f %% of what was sent was cached", references, share)
		if share < 95 {
			t.Errorf("references %v: %.1f %%, want at least 95", references, share)
		}
	}
}

func BenchmarkCachedShare(b *testing.B) {
	for _, references := range []bool{true, false} {
		b.Run(fmt.Sprint("references ", references), func(b *testing.B) {
			var share float64
			for b.Loop() {
				share = cachedShare(b, references)
			}
			b.ReportMetric(share, "%cached")
		})
	}
}
