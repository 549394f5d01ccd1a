package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/tool"
)

// calls are those of every corpus there is: of rules, of commands, of paths.
func calls(t *testing.T) []tool.Case {
	t.Helper()
	all, _ := commands(t)
	for _, path := range []string{"shell/testdata/holes.jsonl", "shell/testdata/labelled.txt"} {
		eachLine(t, path, func(line string) {
			var c struct{ Cmd string }
			if json.Unmarshal([]byte(line), &c) == nil {
				all = append(all, c.Cmd)
			} else if _, command, ok := strings.Cut(line, " "); ok {
				all = append(all, strings.TrimSpace(command))
			}
		})
	}
	var cases []tool.Case
	for _, c := range all {
		cases = append(cases, bash(c))
	}
	eachLine(t, "testdata/rule.jsonl", func(line string) {
		var c ruleCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, tool.Case{Call: &tool.Call{Tool: c.Tool, Input: c.Input}})
	})
	eachLine(t, "../workspace/guard/testdata/path.jsonl", func(line string) {
		var c struct{ Tool, Path string }
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, onFile(c.Tool, strings.NewReplacer("$P", "/home/u/proj", "$HOME", "/home/u").Replace(c.Path)))
	})
	for _, path := range []string{"/home/u/proj/src/a.go", "/home/u/proj/a.go", "/home/u/x", "/etc/hosts", "/x", "/home/u/proj/a[b]*{c}?/d\\e", "/home/u/proj/a (b)/c"} {
		cases = append(cases, onFile("Edit", path), onFile("Read", path), onFile("Grep", path))
	}
	for _, c := range []struct{ name, input string }{
		{"WebFetch", `{"url":"https://example.com/a"}`}, {"WebFetch", `{"url":"https://*.example.com/a"}`}, {"WebFetch", `{"url":"http://[::1]:8/a"}`},
		{"mcp__s__t", `{}`}, {"Agent", `{"subagent_type":"x"}`}, {"a(b", `{}`}, {"*", `{}`},
	} {
		cases = append(cases, tool.Case{Call: &tool.Call{Tool: c.name, Input: json.RawMessage(c.input)}})
	}
	return cases
}

func onFile(name, path string) tool.Case {
	in, err := json.Marshal(map[string]string{"file_path": path, "path": path, "notebook_path": path})
	if err != nil {
		panic(err)
	}
	return tool.Case{Call: &tool.Call{Tool: name, Input: in}}
}

func eachLine(t *testing.T, path string, do func(string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		do(lines.Text())
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// Whoever keeps the rules that are suggested for a call is not asked about it again.
func TestSuggestionsSettleTheNextCall(t *testing.T) {
	g := virtualGuard(t)
	given := []permission.Rule{{Text: "Bash(git:*)", Behavior: tool.Allow}, {Text: "Edit(docs/**)", Behavior: tool.Allow}, {Text: "Read(secrets/**)", Behavior: tool.Deny}, {Text: "Bash(npm publish:*)", Behavior: tool.Ask}}
	all := calls(t)
	// The corpus whole in one mode, and a part of it in the others.
	for mode, every := range map[permission.Mode]int{permission.Default: 1, permission.AcceptEdits: 9, permission.Auto: 17, permission.Plan: 17, permission.DontAsk: 17} {
		opts := permission.Options{Mode: mode, Guard: g, Home: "/home/u", Trusted: true, Rules: given}
		p := permission.NewPolicy(opts)
		asked, settled := 0, 0
		for i := 0; i < len(all); i += every {
			c := all[i]
			d := p.Decide(c)
			if d.Behavior == tool.Ask {
				asked++
			}
			if len(d.Suggestions) == 0 {
				continue
			}
			settled++
			more := opts
			more.Rules = given[:len(given):len(given)]
			for _, s := range d.Suggestions {
				more.Rules = append(more.Rules, permission.Rule{Text: s.Rule, Behavior: tool.Allow, Origin: settings.Origin{Source: settings.Local}})
			}
			if again := permission.NewPolicy(more).Decide(c); again.Behavior != tool.Allow {
				t.Errorf("%s, %s %s with %v: still %s, %s", mode, c.Call.Tool, c.Call.Input, d.Suggestions, again.Behavior, again.Reason)
			}
			for _, s := range d.Suggestions {
				for _, broad := range []string{"Bash", "Bash(*)", "Edit(/**)", "Read(/**)", "Edit(//**)", "Read(//**)", "Bash(sh:*)", "Bash(rm:*)", "Bash(python3:*)"} {
					if s.Rule == broad {
						t.Errorf("%s %s: the rule %s is suggested", c.Call.Tool, c.Call.Input, s.Rule)
					}
				}
			}
		}
		if mode == permission.Default && settled < asked/4 {
			t.Errorf("rules are suggested for %d of %d", settled, asked)
		}
	}
}

func TestWhatIsSuggestedIsNoMoreThanWasAsked(t *testing.T) {
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Trusted: true})
	for _, c := range []struct {
		call tool.Case
		want string
	}{
		{onFile("Edit", "/home/u/proj/src/a.go"), "Edit(/src/**)"},
		{onFile("Edit", "/home/u/proj/a.go"), "Edit(/a.go)"},
		{onFile("Edit", "/home/u/proj/.env"), ""},
		{onFile("Edit", "/home/u/proj/node_modules/x/a.js"), ""},
		{onFile("Read", "/home/u/proj/.env"), ""},
		{onFile("Read", "/home/u/notes.txt"), "Read(//home/u/notes.txt)"},
		{onFile("Read", "/srv/data/x/notes.txt"), "Read(//srv/data/x/**)"},
		{onFile("Edit", "/home/u/proj/[x]/a.go"), `Edit(/\[x\]/**)`},
	} {
		d := p.Decide(c.call)
		if got := strings.TrimSuffix(strings.TrimPrefix(d.Remedy(), " A rule that would allow it: "), "."); d.Behavior != tool.Ask || got != c.want {
			t.Errorf("%s %s: %s, %q; want %q", c.call.Call.Tool, c.call.Call.Input, d.Behavior, got, c.want)
		}
	}
}

// What holds for a file holds for it through every tool.
func TestAProtectedFileIsAskedAboutWhateverRulesAllow(t *testing.T) {
	rules := []permission.Rule{{Text: "Read(/**)", Behavior: tool.Allow}, {Text: "Edit(/**)", Behavior: tool.Allow}, {Text: "Read", Behavior: tool.Allow}, {Text: "Bash", Behavior: tool.Allow}}
	p := permission.NewPolicy(permission.Options{Guard: virtualGuard(t), Home: "/home/u", Trusted: true, Rules: rules})
	for _, c := range []tool.Case{onFile("Read", "/home/u/proj/.env"), onFile("Grep", "/home/u/proj/.env"), onFile("Edit", "/home/u/proj/.env"), bash("cat .env"), bash("touch .env"), bash("echo x > .env"), bash("cat < server.key")} {
		if d := p.Decide(c); d.Behavior != tool.Ask || len(d.Suggestions) > 0 {
			t.Errorf("%s %s: %s, %v", c.Call.Tool, c.Call.Input, d.Behavior, d.Suggestions)
		}
	}
}
