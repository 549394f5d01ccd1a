package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/tool"
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
	if got := fmt.Sprint(s.Refused()); !strings.Contains(got, "my.tool") || !strings.Contains(got, "the name is taken") {
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

func TestTheRequestOfOneTurnBeginsThatOfTheNext(t *testing.T) {
	s := tool.NewSet(nil, []tool.Tool{named("Read"), named(tool.SearchName), named("Sleep", deferred)}, nil, nil)
	first := bytes.Clone(s.Request())
	if got := list(t, first); got != "Read ToolSearch" {
		t.Errorf("first request: %s", got)
	}
	late := s.Append(named("mcp__b", foreign), named("mcp__a", foreign), named("Read", foreign))
	found := late.Reveal("Sleep", "Sleep", "Nothing", "Read")
	last := found.Append(named("Another", foreign))
	if got := list(t, last.Request()); got != "Read ToolSearch mcp__a mcp__b Sleep Another" {
		t.Errorf("last request: %s", got)
	}
	for i, set := range []*tool.Set{s, late, found, last} {
		if !bytes.HasPrefix(set.Request(), first[:len(first)-1]) {
			t.Errorf("the request of turn %d does not begin like that of turn 0", i)
		}
	}
	if !bytes.Equal(first, s.Request()) {
		t.Error("a later turn changed an earlier one's request")
	}
	if again := s.Request(); &again[0] != &s.Request()[0] {
		t.Error("an unchanged request was encoded again")
	}
}

func TestDeferral(t *testing.T) {
	search := named(tool.SearchName)
	many := func() (tools []tool.Tool) {
		for i := range 20 {
			tools = append(tools, named(fmt.Sprintf("mcp__s__%02d", i), foreign, func(d *tool.Def[empty, string]) {
				d.Description = strings.Repeat("long ", 100)
			}))
		}
		return tools
	}()
	for _, c := range []struct {
		name     string
		builtins []tool.Tool
		opts     *tool.SetOptions
		want     int
	}{
		{"a marked tool is deferred", []tool.Tool{search, named("Sleep", deferred)}, nil, 1},
		{"nothing is deferred that could not be found", []tool.Tool{named("Sleep", deferred)}, nil, 0},
		{"foreign tools that crowd the context are deferred", []tool.Tool{search}, &tool.SetOptions{ContextTokens: 10_000}, 20},
		{"foreign tools that fit are not", []tool.Tool{search}, &tool.SetOptions{ContextTokens: 200_000}, 0},
		{"the share can be set", []tool.Tool{search}, &tool.SetOptions{ContextTokens: 200_000, DeferShare: 0.001}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := tool.NewSet(nil, c.builtins, many, c.opts)
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
	opts := &tool.SetOptions{ContextTokens: 10_000, Denied: func(t *tool.Tool) bool { return t.Name == "mcp__s__denied" }}
	s := tool.NewSet(nil, []tool.Tool{named(tool.SearchName)}, nil, opts)
	s = s.Append(late("mcp__s__a", nil), late("mcp__s__b", map[string]any{tool.AlwaysLoad: true}), late("mcp__s__denied", nil))
	if s.Lookup("mcp__s__denied") != nil {
		t.Error("a denied tool joined late")
	}
	var names []string
	for _, d := range s.Deferred() {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); got != "mcp__s__a" {
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
