package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

type empty struct{}

func named(name string, change ...func(*tool.Def[empty, string])) tool.Tool {
	d := tool.Def[empty, string]{
		Name: name, Description: "is " + name,
		Run: func(context.Context, *tool.Call, empty) (string, error) { return "", nil },
	}
	for _, c := range change {
		c(&d)
	}
	return tool.New(d)
}

func foreign(d *tool.Def[empty, string])  { d.Source = "mcp:s" }
func deferred(d *tool.Def[empty, string]) { d.Deferred = true }

func names(tools []*tool.Tool) []string {
	var n []string
	for _, t := range tools {
		n = append(n, t.Name)
	}
	return n
}

func TestAPoolIsBuiltInsByNameThenForeignByName(t *testing.T) {
	s := tool.NewSet(nil,
		[]tool.Tool{named("Read"), named("Bash")},
		[]tool.Tool{named("mcp__z", foreign), named("Bash", foreign), named("mcp__a", foreign)}, nil)
	if d := cmp.Diff([]string{"Bash", "Read", "mcp__a", "mcp__z"}, names(s.All())); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s.Lookup("Bash").Source != "" {
		t.Error("a foreign tool took the name of a built-in")
	}
	if d := cmp.Diff([]string{"Bash", "Read", "mcp__a", "mcp__z"}, s.Session().Tools); d != "" {
		t.Errorf("session's tools (-want +got):\n%s", d)
	}
}

func TestToolsAreChosenBeforeTheModelSeesThem(t *testing.T) {
	tools := []tool.Tool{
		named("A"), named("B"), named("C"),
		named("D", func(d *tool.Def[empty, string]) { d.Enabled = func(s *tool.Session) bool { return s.Interactive } }),
	}
	only := tool.NewSet(nil, tools, nil, &tool.SetOptions{Only: []string{"A", "C"}})
	denied := tool.NewSet(nil, tools, nil, &tool.SetOptions{Denied: func(t *tool.Tool) bool { return t.Name == "A" }})
	interactive := tool.NewSet(&tool.Session{Interactive: true}, tools, nil, nil)
	for _, c := range []struct {
		set  *tool.Set
		want string
	}{{only, "A C"}, {denied, "B C"}, {interactive, "A B C D"}} {
		if got := strings.Join(names(c.set.All()), " "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestAnOlderNameKeepsWorking(t *testing.T) {
	s := tool.NewSet(nil, []tool.Tool{
		named("Agent", func(d *tool.Def[empty, string]) { d.Aliases = []string{"Task", "Read"} }), named("Read"),
	}, nil, nil)
	if got := s.Lookup("Task"); got == nil || got.Name != "Agent" {
		t.Errorf("Task is %v", got)
	}
	if got := s.Lookup("Read"); got.Name != "Read" {
		t.Errorf("a name lost against an alias: Read is %s", got.Name)
	}
	if s.Lookup("Nothing") != nil {
		t.Error("found a tool that is not there")
	}
}

// Providers take names of up to 128 characters.
func TestNamesAreThoseThatProvidersTake(t *testing.T) {
	for name, valid := range map[string]bool{
		"a": true, "A-b_9": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a.b": false, "ä": false,
	} {
		tl := named(name)
		if err := tl.Check(); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAToolWithAWrongOutputIsFound(t *testing.T) {
	good, bad := named("Good"), named("Bad")
	bad.Output = schema.OfOutput[chan int]()
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "output schema") {
		t.Errorf("%v", err)
	}
}

// Built-in tools are known whether the set has them or not; those of others are not among them.
func TestKnownToolsAreTheBuiltInOnes(t *testing.T) {
	far := named("Far")
	far.Source = "mcp:far"
	known := tool.NewSet(nil, []tool.Tool{named("Here"), named("Left")}, []tool.Tool{far}, &tool.SetOptions{Only: []string{"Here", "Far"}}).Known()
	slices.Sort(known)
	if diff := cmp.Diff([]string{"Here", "Left"}, known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

func TestAWronglyBuiltToolPanicsWithItsName(t *testing.T) {
	for name, tools := range map[string][]tool.Tool{
		"Twice":    {named("Twice"), named("Twice")},
		"two word": {named("two word")},
		"NoRun":    {named("NoRun", func(d *tool.Def[empty, string]) { d.Run = nil })},
		"Mute":     {named("Mute", func(d *tool.Def[empty, string]) { d.Description = "" })},
		"Odd":      {tool.New(tool.Def[int, string]{Name: "Odd", Description: "x", Run: func(context.Context, *tool.Call, int) (string, error) { return "", nil }})},
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, name) {
					t.Errorf("%s: panic %q does not name the tool", name, p)
				}
			}()
			tool.NewSet(nil, tools, nil, nil)
		}()
	}
}

func TestAWronglyBuiltForeignToolIsLeftOut(t *testing.T) {
	s := tool.NewSet(nil, []tool.Tool{named("Read")}, []tool.Tool{named("my.tool", foreign), named("Read", foreign), named("ok", foreign)}, nil)
	if got := strings.Join(names(s.All()), " "); got != "Read ok" {
		t.Errorf("pool: %s", got)
	}
	if got := fmt.Sprint(s.Refused()); !strings.Contains(got, "my.tool") || !strings.Contains(got, "the name is already taken") {
		t.Errorf("refused: %s", got)
	}
}

func TestASetDoesNotChangeWithItsSession(t *testing.T) {
	session := &tool.Session{Flags: map[string]bool{"x": true}}
	s := tool.NewSet(session, nil, nil, nil)
	delete(session.Flags, "x")
	if !s.Session().Flags["x"] {
		t.Error("a set lost a flag after it was assembled")
	}
}

func TestAPanicInADescriptionNamesTheTool(t *testing.T) {
	s := tool.NewSet(nil, []tool.Tool{named("Shy", func(d *tool.Def[empty, string]) {
		d.Describe = func(*tool.Session) string { panic("no") }
	})}, nil, nil)
	for range 2 {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, "tool Shy: describe: no") {
					t.Errorf("panic: %s", p)
				}
			}()
			s.Request()
		}()
	}
}

func TestABuiltInsOlderNameWinsOverAForeignOne(t *testing.T) {
	alias := func(d *tool.Def[empty, string]) { d.Aliases = []string{"Old"} }
	s := tool.NewSet(nil, nil, []tool.Tool{named("theirs", foreign, alias)}, nil).Append(named("Ours", alias))
	if got := s.Lookup("Old").Name; got != "Ours" {
		t.Errorf("Old is %s", got)
	}
}

// What is loaded stays the very same bytes once a conversation is in flight, whatever
// joins, is found or goes: a provider caches the tools before everything else.
func TestTheToolsOfAConversationInFlightStay(t *testing.T) {
	builtins := []tool.Tool{named("Read"), named(tool.SearchName), named("Sleep", deferred)}
	for _, references := range []bool{true, false} {
		t.Run(fmt.Sprint("references ", references), func(t *testing.T) {
			opts := &tool.SetOptions{References: references}
			pool := func(foreign ...tool.Tool) *tool.Set { return tool.NewSet(nil, builtins, foreign, opts) }
			s := pool(named("mcp__a", foreign)).Append(named("mcp__b", foreign)).Seal()
			first := bytes.Clone(s.Request())
			if got := list(t, first); got != "Read ToolSearch mcp__a mcp__b" {
				t.Errorf("first request: %s", got)
			}
			found := s.Reveal("Sleep", "Sleep", "Nothing", "Read")
			late := found.Next(pool(named("mcp__a", foreign), named("mcp__late", foreign)))
			want := "Read ToolSearch mcp__a mcp__b"
			if references {
				want += " Sleep" // with defer_loading, which is no part of what is cached
			}
			if got := list(t, late.Request()); got != want {
				t.Errorf("last request: %s, want %s", got, want)
			}
			if !bytes.HasPrefix(late.Request(), first[:len(first)-1]) || strings.Count(string(late.Request()), `"defer_loading":true`) != strings.Count(want, "Sleep") {
				t.Errorf("request %s does not begin like %s", late.Request(), first)
			}
			if got := strings.Join(names(late.Deferred()), " "); got != "mcp__late" {
				t.Errorf("deferred %s", got)
			}
			if !bytes.Equal(first, s.Request()) {
				t.Error("a later request changed an earlier one")
			}
			if got := list(t, late.Renew().Request()); got != "Read ToolSearch mcp__a mcp__late Sleep" {
				t.Errorf("after a compaction: %s", got)
			}
		})
	}
}

func TestAnUnchangedRequestIsEncodedOnce(t *testing.T) {
	s := tool.NewSet(nil, []tool.Tool{named("Read")}, nil, nil)
	if again := s.Request(); &again[0] != &s.Request()[0] {
		t.Error("it was encoded again")
	}
}

// A tool that changes is called by its new schema, and one that is gone says so. The model
// learns of both.
func TestToolsThatChangeAndGo(t *testing.T) {
	says := func(text string) func(*tool.Def[empty, string]) {
		return func(d *tool.Def[empty, string]) {
			d.Description, d.Run = text, func(context.Context, *tool.Call, empty) (string, error) { return text, nil }
		}
	}
	s := tool.NewSet(nil, nil, []tool.Tool{named("mcp__s__a", foreign, says("old")), named("mcp__s__b", foreign)}, nil).Seal()
	n := s.Next(tool.NewSet(nil, nil, []tool.Tool{named("mcp__s__a", foreign, says("new"))}, nil))
	if !bytes.Equal(n.Request(), s.Request()) {
		t.Errorf("the request has changed: %s", n.Request())
	}
	run := func(name string) (string, error) {
		called := n.Lookup(name)
		r, err := called.Run(t.Context(), &tool.Call{Tool: name, Input: []byte(`{}`), Session: n.Session(), Tools: n})
		return r.Text(), err
	}
	if got, err := run("mcp__s__a"); got != "new" || err != nil {
		t.Errorf("the changed tool: %q, %v", got, err)
	}
	if _, err := run("mcp__s__b"); err == nil || !strings.Contains(err.Error(), "the MCP server s is not connected") {
		t.Errorf("the tool that is gone: %v", err)
	}
	if news := strings.Join(n.News(), "\n"); !strings.Contains(news, "mcp__s__a has changed") || !strings.Contains(news, "mcp__s__b is no longer available") {
		t.Errorf("news: %s", news)
	}
	back := n.Next(tool.NewSet(nil, nil, []tool.Tool{named("mcp__s__a", foreign, says("new")), named("mcp__s__b", foreign)}, nil))
	if news := back.News(); len(news) != 3 || !strings.Contains(news[2], "mcp__s__b is available again") {
		t.Errorf("news: %q", news)
	}
}

func TestTheDoor(t *testing.T) {
	door := named(tool.DoorName)
	builtins := []tool.Tool{named(tool.SearchName), named("Sleep", deferred)}
	with := func(references, late bool, builtins ...tool.Tool) string {
		return list(t, tool.NewSet(nil, builtins, nil, &tool.SetOptions{References: references, Late: late, Door: &door}).Request())
	}
	for got, want := range map[string]string{
		with(true, true, builtins...):     "ToolSearch",
		with(false, false, builtins...):   "ToolSearch CallTool",
		with(true, false, named("Read")):  "Read",
		with(true, true, named("Read")):   "Read CallTool",
		with(false, false, named("Glob")): "Glob",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	s := tool.NewSet(nil, builtins, nil, &tool.SetOptions{Door: &door})
	for _, c := range []struct{ in, name, input string }{
		{`{"tool":"Sleep","input":{"s":1}}`, "Sleep", `{"s":1}`},
		{`{"tool":"Sleep"}`, "Sleep", `{}`},
		{`{"tool":"Sleep","input":"{\"s\":1}"}`, "Sleep", `{"s":1}`},
		{`{"tool":"Nap","input":{}}`, tool.DoorName, `{"tool":"Nap","input":{}}`},
		{`{"tool":"CallTool","input":{}}`, tool.DoorName, `{"tool":"CallTool","input":{}}`},
		{`nonsense`, tool.DoorName, `nonsense`},
	} {
		if name, input := s.ThroughDoor(tool.DoorName, json.RawMessage(c.in)); name != c.name || string(input) != c.input {
			t.Errorf("%s is %s %s", c.in, name, input)
		}
	}
}

func TestDeferral(t *testing.T) {
	search := named(tool.SearchName)
	foreigners := func(n, words int) (tools []tool.Tool) {
		for i := range n {
			tools = append(tools, named(fmt.Sprintf("mcp__s__%02d", i), foreign, func(d *tool.Def[empty, string]) {
				d.Description = strings.Repeat("long ", words)
			}))
		}
		return tools
	}
	for _, c := range []struct {
		name     string
		builtins []tool.Tool
		foreign  []tool.Tool
		opts     tool.DeferOptions
		want     int
	}{
		{"a marked tool is deferred", []tool.Tool{search, named("Sleep", deferred)}, nil, tool.DeferOptions{}, 1},
		{"nothing is deferred that could not be found", []tool.Tool{named("Sleep", deferred)}, foreigners(50, 1), tool.DeferOptions{}, 0},
		{"40 foreign tools are not", []tool.Tool{search}, foreigners(40, 1), tool.DeferOptions{}, 0},
		{"41 are", []tool.Tool{search}, foreigners(41, 1), tool.DeferOptions{}, 41},
		{"few tools that take more than 20,000 tokens are", []tool.Tool{search}, foreigners(20, 1000), tool.DeferOptions{}, 20},
		{"few tools that fit are not", []tool.Tool{search}, foreigners(20, 100), tool.DeferOptions{}, 0},
		{"the limit can be set", []tool.Tool{search}, foreigners(20, 100), tool.DeferOptions{Tokens: 500}, 20},
		{"the limits can be lifted", []tool.Tool{search}, foreigners(50, 1000), tool.DeferOptions{Tokens: -1, Count: -1}, 0},
		{"always", []tool.Tool{search}, foreigners(1, 1), tool.DeferOptions{Always: true}, 1},
		{"never", []tool.Tool{search, named("Sleep", deferred)}, foreigners(50, 1), tool.DeferOptions{Never: true}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tool.NewSet(nil, c.builtins, c.foreign, &tool.SetOptions{Defer: c.opts})
			if got := len(s.Deferred()); got != c.want {
				t.Errorf("%d deferred, want %d", got, c.want)
			}
		})
	}
}

func TestLateToolsAreDeferredAndDeniedLikeOthers(t *testing.T) {
	late := func(name string, meta map[string]any) tool.Tool {
		return named(name, foreign, func(d *tool.Def[empty, string]) {
			d.Description, d.Meta = strings.Repeat("long ", 1000), meta
		})
	}
	opts := &tool.SetOptions{Defer: tool.DeferOptions{Tokens: 1000}, Denied: func(t *tool.Tool) bool { return t.Name == "mcp__s__denied" }}
	s := tool.NewSet(nil, []tool.Tool{named(tool.SearchName)}, nil, opts)
	s = s.Append(late("mcp__s__a", nil), late("mcp__s__b", map[string]any{tool.AlwaysLoad: true}), late("mcp__s__denied", nil))
	if s.Lookup("mcp__s__denied") != nil {
		t.Error("a denied tool joined late")
	}
	if got := strings.Join(names(s.Deferred()), " "); got != "mcp__s__a" {
		t.Errorf("deferred %q, want mcp__s__a", got)
	}
}

func list(t *testing.T, request json.RawMessage) string {
	t.Helper()
	var tools []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(request, &tools); err != nil {
		t.Fatal(err)
	}
	var n []string
	for _, tl := range tools {
		n = append(n, tl.Name)
	}
	return strings.Join(n, " ")
}

// wide has as many fields as the widest of the built-in tools.
type wide struct {
	Pattern string   `json:"pattern" jsonschema:"What to look for."`
	Path    string   `json:"path,omitempty" jsonschema:"Where to look."`
	Mode    string   `json:"output_mode,omitempty" jsonschema:"What to show." haft:"enum=content|count|files_with_matches"`
	Before  int      `json:"-B,omitempty" jsonschema:"Lines before." haft:"min=0"`
	After   int      `json:"-A,omitempty" jsonschema:"Lines after." haft:"min=0"`
	Types   []string `json:"types,omitempty" jsonschema:"Kinds of files." haft:"max=10"`
	Deep    bool     `json:"multiline,omitempty" jsonschema:"Let patterns span lines."`
}

func forty() []tool.Tool {
	var tools []tool.Tool
	for i := range 40 {
		tools = append(tools, tool.New(tool.Def[wide, string]{
			Name: fmt.Sprintf("Tool%02d", i), Description: strings.Repeat("Searches files by content. ", 40),
			Run: func(context.Context, *tool.Call, wide) (string, error) { return "", nil },
		}))
	}
	return tools
}

func BenchmarkPoolOfFortyToolsCold(b *testing.B) {
	for b.Loop() {
		tool.NewSet(nil, forty(), nil, nil).Request()
	}
}

func BenchmarkRequestUnchanged(b *testing.B) {
	s := tool.NewSet(nil, forty(), nil, nil)
	s.Request()
	b.ReportAllocs()
	for b.Loop() {
		s.Request()
	}
}
