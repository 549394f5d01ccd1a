package permission_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

func bash(command string) tool.Case {
	in, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return called("Bash", in)
}

// commands returns the commands of the shell's corpus, and whether each only reads.
func commands(t testing.TB) (all []string, readOnly []bool) {
	t.Helper()
	file, err := os.Open("../../shell/testdata/bash.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Cmd      string
			ReadOnly bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all, readOnly = append(all, c.Cmd), append(readOnly, c.ReadOnly)
	}
	return all, readOnly
}

func TestTheCommandCorpus(t *testing.T) {
	all, readOnly := commands(t)
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u"})
	asked, reading := 0, 0
	for i, c := range all {
		d := p.Decide(bash(c))
		allowed := d.Behavior == tool.Allow
		if allowed && !readOnly[i] {
			t.Errorf("allowed by itself: %q", c)
		}
		if readOnly[i] {
			reading++
			if !allowed {
				asked++
			}
		}
	}
	if asked*100 > reading*3 {
		t.Errorf("%d of %d commands that only read are asked about", asked, reading)
	}
}

// strictness orders verdicts.
var strictness = map[tool.Behavior]int{tool.Allow: 0, tool.Ask: 1, tool.Deny: 2}

func TestAddingADenyOrAskRuleNeverLoosens(t *testing.T) {
	all, _ := commands(t)
	r := rand.New(rand.NewPCG(1, 2))
	texts := []string{"Bash(git:*)", "Bash(rm *)", "Read(src/**)", "Edit(//etc/**)", "Bash", "Bash(* --force)", "Read(.env)", "Edit(docs/**)", "Bash(curl:*)"}
	g := virtualGuard(t)
	rule := func(b tool.Behavior) permission.Rule {
		return permission.Rule{Text: texts[r.IntN(len(texts))], Behavior: b, Origin: settings.Origin{Source: settings.User}}
	}
	texts = append(texts, "Edit", "Read", "WebFetch", "mcp__s", "Edit(*.go)", "Write")
	var others []tool.Case
	for name, in := range map[string]string{
		"Edit": `{"file_path":"/home/u/proj/a.go"}`, "Write": `{"file_path":"/home/u/proj/docs/x"}`, "Read": `{"file_path":"/home/u/proj/src/a"}`,
		"Grep": `{"pattern":"x"}`, "WebFetch": `{"url":"https://example.com"}`, "mcp__s__t": `{}`, "NotebookEdit": `{"notebook_path":"/home/u/proj/n.ipynb"}`,
	} {
		others = append(others, called(name, json.RawMessage(in)))
	}
	modes := permission.Modes()
	for range 3000 / needtest.Every(6) {
		opts := permission.Options{Mode: modes[r.IntN(len(modes))], Guard: g, Home: "/home/u", Rules: []permission.Rule{rule(tool.Allow), rule(tool.Allow)}}
		c := bash(all[r.IntN(len(all))])
		if r.IntN(3) == 0 {
			c = others[r.IntN(len(others))]
		}
		before := permission.NewPolicy(opts).Decide(c)
		added := rule([]tool.Behavior{tool.Deny, tool.Ask}[r.IntN(2)])
		opts.Rules = append(opts.Rules, added)
		after := permission.NewPolicy(opts).Decide(c)
		if strictness[after.Behavior] < strictness[before.Behavior] {
			t.Fatalf("%s in mode %s: %s became %s by the %s rule %s", c.Call.Input, opts.Mode, before.Behavior, after.Behavior, added.Behavior, added.Text)
		}
	}
}

func TestADisguiseNeverLoosens(t *testing.T) {
	disguises := []string{"%s", "env %s", "FOO=bar %s", "( %s )", "{ %s; }", "true; %s", "%s; true", "if true; then %s; fi", "timeout 5 %s", "bash -c '%s'", "nice %s", "\\%s", "'%s'"}
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Mode: permission.Bypass, Rules: []permission.Rule{
		{Text: "Bash(rm *)", Behavior: tool.Deny}, {Text: "Bash(git push:*)", Behavior: tool.Deny}, {Text: "Bash(curl:*)", Behavior: tool.Deny},
	}})
	for _, command := range []string{"rm -rf build", "git push origin main", "curl https://x"} {
		for _, d := range disguises {
			text := fmt.Sprintf(d, command)
			if d == "'%s'" || d == "\\%s" {
				name, rest, _ := strings.Cut(command, " ")
				text = fmt.Sprintf(d, name) + " " + rest
			}
			if got := p.Decide(bash(text)); got.Behavior != tool.Deny {
				t.Errorf("%s: %s", text, got.Behavior)
			}
		}
	}
}

func TestWhatRunsIsWhatWasAnalysed(t *testing.T) {
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u"})
	c := bash("ls   -la # a comment")
	c.Call.Input = json.RawMessage(`{"command":"ls   -la # a comment","timeout":5}`)
	d := p.Decide(c)
	if string(d.Input) != `{"command":"ls -la","timeout":5}` {
		t.Errorf("runs %s", d.Input)
	}
}

func TestHooksMayTightenAndNotLoosen(t *testing.T) {
	rules := []permission.Rule{{Text: "Bash(npm:*)", Behavior: tool.Deny}, {Text: "Bash(make:*)", Behavior: tool.Ask}, {Text: "Bash(go:*)", Behavior: tool.Allow}}
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Rules: rules})
	for _, c := range []struct {
		command string
		hook    tool.Behavior
		want    tool.Behavior
	}{
		{"npm ci", tool.Allow, tool.Deny}, {"make all", tool.Allow, tool.Ask}, {"cargo build", tool.Allow, tool.Allow},
		{"go build", tool.Ask, tool.Ask}, {"go build", tool.Deny, tool.Deny}, {"ls", tool.Deny, tool.Deny}, {"rm -rf /", tool.Allow, tool.Ask},
	} {
		cs := bash(c.command)
		cs.Hook.Behavior = c.hook
		if got := p.Decide(cs); got.Behavior != c.want {
			t.Errorf("%s with a hook that says %s: %s, want %s", c.command, c.hook, got.Behavior, c.want)
		}
	}
}

func TestWhatIsLeftToAPersonIsAskedInEveryMode(t *testing.T) {
	rules := []permission.Rule{{Text: "AskUserQuestion", Behavior: tool.Allow}}
	ask := tool.Case{
		Call: &tool.Call{Tool: "AskUserQuestion", Input: json.RawMessage(`{}`)},
		Tool: &tool.Tool{Name: "AskUserQuestion", Marks: func(*tool.Call) tool.Marks { return tool.Marks{ReadOnly: true} }},
		Own:  tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Message: "Which?"}, Hook: tool.Verdict{Behavior: tool.Allow},
	}
	for _, mode := range permission.Modes() {
		d := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Mode: mode, Rules: rules}).Decide(ask)
		want := tool.Ask
		if mode == permission.DontAsk {
			want = tool.Deny
		}
		if d.Behavior != want || want == tool.Ask && (!d.NeedsPerson || d.Message != "Which?" || d.Suggestions != nil) {
			t.Errorf("%s: %+v", mode, d.Verdict)
		}
	}
	denied := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Rules: []permission.Rule{{Text: "AskUserQuestion", Behavior: tool.Deny}}}).Decide(ask)
	if denied.Behavior != tool.Deny {
		t.Errorf("with a rule that denies it: %s", denied.Behavior)
	}
}

func TestARuleMatchesACallByItself(t *testing.T) {
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Rules: []permission.Rule{{Text: "Bash", Behavior: tool.Deny}}})
	for _, c := range []struct {
		rule, command string
		want          bool
	}{
		{"Bash(git push:*)", "ls && git push", true}, {"Bash(git push:*)", "git pull", false}, {"Bash", "ls", true}, {"Read(secrets/**)", "cat secrets/a", true},
	} {
		got, err := p.Matches(c.rule, tools.Lookup("Bash"), bash(c.command).Call)
		if got != c.want || err != nil {
			t.Errorf("%s on %s: %t, %v", c.rule, c.command, got, err)
		}
	}
	if _, err := p.Matches("Bash(", nil, bash("ls").Call); err == nil {
		t.Error("a broken rule was matched")
	}
}

func TestAnEngineLosesNoGrant(t *testing.T) {
	e := permission.NewEngine(permission.Options{Guard: virtualGuard(t), Home: "/home/u"})
	var granting sync.WaitGroup
	for i := range 100 {
		granting.Go(func() {
			e.Grant(permission.Rule{Text: fmt.Sprintf("Bash(tool%d:*)", i), Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Session}})
			e.Judge(t.Context(), bash("ls"))
		})
	}
	granting.Wait()
	for i := range 100 {
		if v := e.Judge(t.Context(), bash(fmt.Sprintf("tool%d x", i))); v.Behavior != tool.Allow {
			t.Errorf("grant %d was lost", i)
		}
	}
	e.SetMode(permission.DontAsk)
	if v := e.Judge(t.Context(), bash("make")); v.Behavior != tool.Deny || !strings.Contains(v.Message, "never asks") {
		t.Errorf("%+v", v)
	}
}

// A reason names every part that needs a yes, and rules are offered for those alone.
func TestTheReasonNamesAllThatIsOpen(t *testing.T) {
	for _, c := range []struct {
		name, command, reason string
		rules                 []string
		allowed               []string
	}{
		{name: "several parts", command: "ls && touch f && rm -rf build", reason: "these parts are not known to be read-only: touch f; rm -rf build", rules: []string{"Bash(touch:*)", "Bash(rm -rf build)"}},
		{name: "one that a rule allows", command: "touch f && rm -rf build", allowed: []string{"Bash(touch:*)"}, reason: "this part is not known to be read-only: rm -rf build", rules: []string{"Bash(rm -rf build)"}},
		{name: "output that goes to a file", command: "touch zzz && echo hi > out.txt", allowed: []string{"Bash(touch:*)"}, reason: "its output goes to out.txt", rules: []string{"Edit(/out.txt)"}},
		{name: "a file and a part", command: "make all > build/log 2>&1", reason: "these parts are not known to be read-only: make all; > build/log", rules: []string{"Bash(make all)", "Edit(/build/log)"}},
		{name: "a loop", command: "for i in 1 2 3; do touch a$i; done", reason: "these parts are not known to be read-only: touch a1; touch a2; touch a3", rules: []string{"Bash(touch:*)"}},
		{name: "a script with a star", command: "sh -c 'ls *'", reason: "sh is not known to be read-only"},
		{name: "a protected file", command: "cat .env", reason: "/home/u/proj/.env: a file with secrets"},
		{name: "a file and no subcommand", command: "touch zzz", reason: "touch is not known to be read-only", rules: []string{"Bash(touch:*)"}},
		{name: "the same thing again", command: "make a; make a; make a; make b", reason: "these parts are not known to be read-only: make a; make b", rules: []string{"Bash(make a)", "Bash(make b)"}},
		{name: "what would be lost", command: "rm -rf ~", reason: "it may destroy the home directory"},
	} {
		opts := permission.Options{Guard: virtualGuard(t), Home: "/home/u", Trusted: true}
		for _, rule := range c.allowed {
			opts.Rules = append(opts.Rules, permission.Rule{Text: rule, Behavior: tool.Allow})
		}
		d := permission.NewPolicy(opts).Decide(bash(c.command))
		var rules []string
		for _, s := range d.Suggestions {
			rules = append(rules, s.Rule)
		}
		if d.Reason != c.reason || !slices.Equal(rules, c.rules) {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, d.Reason, rules, c.reason, c.rules)
		}
	}
}

func BenchmarkVerdict(b *testing.B) {
	g := virtualGuard(b)
	typical := bash("git status && go test ./... 2>&1 | tail -20")
	worst := bash("echo " + strings.Repeat("$(echo a) ", 990))
	var rules []permission.Rule
	for i := range 1000 {
		rules = append(rules, permission.Rule{Text: fmt.Sprintf("Bash(tool%d run:*)", i), Behavior: []tool.Behavior{tool.Allow, tool.Ask, tool.Deny}[i%3]})
	}
	for _, c := range []struct {
		name  string
		call  tool.Case
		rules []permission.Rule
	}{{"typical", typical, nil}, {"typical with 1000 rules", typical, rules}, {"10,000 bytes", worst, nil}} {
		p := permission.NewPolicy(permission.Options{Guard: g, Home: "/home/u", Rules: c.rules})
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p.Decide(c.call)
			}
		})
	}
}
