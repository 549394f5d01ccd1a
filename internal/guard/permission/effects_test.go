package permission_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// An effectCase is a command that ran where its changes do not count.
type effectCase struct {
	name    string
	mode    permission.Mode
	rules   string // behaviour and rule, a line each
	command string // "./run.sh" if ""
	changed string // paths; -path is deleted, path>target becomes a link
	auto    bool   // nobody is asked
	want    string // the verdict, and what is dropped
	reason  string // that the reason contains
}

func TestACommandIsJudgedByWhatItChanged(t *testing.T) {
	for _, c := range []effectCase{
		{name: "nothing", want: "allow", reason: "preview: changed nothing"},
		{name: "nothing in plan mode", mode: permission.Plan, want: "allow", reason: "preview: changed nothing"},
		{name: "something in plan mode", mode: permission.Plan, changed: "a", want: "deny", reason: "plan mode"},
		{name: "a rule wants the command asked", rules: "ask Bash(./run.sh)", want: "ask"},
		{name: "a secret is read", command: "cat .env", want: "ask"},
		{name: "no rule", changed: "src/a", want: "ask", reason: "it changed PROJECT/src/a: no rule allows this change"},
		{name: "a rule about edits", rules: "allow Edit(src/**)", changed: "src/a src/deep/b", want: "allow", reason: "preview: a rule allows what it changed"},
		{name: "a rule about some of it", rules: "allow Edit(src/**)", changed: "src/a other", want: "ask", reason: "other"},
		{name: "a rule and the mode", mode: permission.AcceptEdits, rules: "allow Edit(src/**)", changed: "src/a other", want: "allow"},
		{name: "accepted edits", mode: permission.AcceptEdits, changed: "a src/b -c", want: "allow", reason: "accepts edits"},
		{name: "accepted edits and git", mode: permission.AcceptEdits, changed: "a .git/refs/heads/main", want: "ask", reason: "for the user to approve"},
		{name: "accepted edits and the index of git", mode: permission.AcceptEdits, changed: "a .git/index .git/objects/aa/bb .git/refs/stash .git/logs/refs/stash .git/ORIG_HEAD", want: "allow"},
		{name: "accepted edits and a hook of git", mode: permission.AcceptEdits, changed: ".git/hooks/pre-commit", want: "ask", reason: "protected"},
		{name: "an allow rule and a protected path", rules: "allow Edit(**)", changed: ".git/config", want: "ask", reason: "protected"},
		{name: "outside", mode: permission.AcceptEdits, changed: "/elsewhere/a", want: "ask"},
		{name: "a link that leads out", mode: permission.AcceptEdits, changed: "a>/etc/passwd", want: "ask", reason: "leads out"},
		{name: "a link that stays", mode: permission.AcceptEdits, changed: "a>src/b", want: "allow"},
		{name: "a denied path", mode: permission.AcceptEdits, rules: "deny Edit(secrets/**)", changed: "a secrets/k", want: "deny", reason: "secrets/k"},
		{name: "a path that may not be read", mode: permission.AcceptEdits, rules: "deny Read(secrets/**)", changed: "secrets/k", want: "deny"},
		{name: "a path that is asked about", mode: permission.AcceptEdits, rules: "ask Edit(docs/**)", changed: "docs/k", want: "ask", reason: "a rule requires asking about changes to PROJECT/docs/k"},

		{name: "a bound rule", rules: "allow Bash(make:*) if Edit(build/**)", command: "make all", changed: "build/x", want: "allow", reason: "a rule allows what it changed"},
		{name: "a bound rule, and more", rules: "allow Bash(make:*) if Edit(build/**)", command: "make all", changed: "build/x src/y", want: "ask", reason: "src/y"},
		{name: "a bound rule for another command", rules: "allow Bash(make:*) if Edit(build/**)", command: "./run.sh", changed: "build/x", want: "ask"},
		{name: "a bound rule and another command", rules: "allow Bash(make:*) if Edit(build/**)", command: "make && ./run.sh", changed: "build/x", want: "ask"},
		{name: "a bound rule and an allowed command", rules: "allow Bash(make:*) if Edit(build/**)\nallow Bash(touch:*)", command: "make && touch build/y", changed: "build/x", want: "allow"},
		{name: "a bound rule for every command", rules: "allow Bash if Edit(build/**)", changed: "build/x", want: "allow"},

		{name: "nobody is asked", auto: true, changed: "a src/b", want: "allow, without a src/b", reason: "the changes to 2 of 2 files were dropped"},
		{name: "nobody is asked, and a rule", auto: true, rules: "allow Edit(src/**)", changed: "a src/b", want: "allow, without a src/b"},
		{name: "nobody is asked, and edits are accepted", auto: true, mode: permission.AcceptEdits, changed: "a .env", want: "allow, without .env a"},
		{name: "nobody is asked about git", auto: true, mode: permission.AcceptEdits, changed: "a .git/HEAD", want: "allow, without .git/HEAD a"},
		{name: "nobody is asked about a move", auto: true, mode: permission.AcceptEdits, changed: "-a .env", want: "allow, without .env a"},
		{name: "nobody is asked, and it is denied", auto: true, mode: permission.AcceptEdits, rules: "deny Edit(a)", changed: "a b", want: "deny"},
		{name: "nobody is asked, and a secret is read", auto: true, command: "cat .env", want: "ask"},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
	}
}

func (c *effectCase) check(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".git", "src"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	opts := permission.Options{Mode: c.mode, Guard: g, Trusted: true, Sandbox: permission.Sandbox{Previews: func() bool { return true }, DropRest: func() bool { return c.auto }}}
	for line := range strings.Lines(c.rules) {
		behaviour, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		b := map[string]tool.Behavior{"allow": tool.Allow, "ask": tool.Ask, "deny": tool.Deny}[behaviour]
		opts.Rules = append(opts.Rules, permission.Rule{Text: text, Behavior: b, Origin: settings.Origin{Source: settings.Local}})
	}
	policy := permission.NewPolicy(opts)
	if problems := policy.Problems(); problems != nil {
		t.Fatal(problems)
	}
	command := c.command
	if command == "" {
		command = "./run.sh"
	}
	set := tool.NewSet(nil, builtin.Unattached(), nil, nil)
	input, _ := json.Marshal(map[string]string{"command": command})
	ask := tool.Case{Tool: set.Lookup("Bash"), Call: &tool.Call{Tool: "Bash", Input: input}}
	if d := policy.Decide(ask); d.Behavior == tool.Ask && d.Confinement != tool.Previewed {
		t.Errorf("before it runs: %v, %q", d.Behavior, d.Confinement)
	}
	ask.Looked, ask.Preview = true, c.preview(dir)
	d := policy.Decide(ask)
	got := d.Behavior.String()
	for i, f := range d.Dropped {
		if i == 0 {
			got += ", without"
		}
		if f.Why == "" {
			t.Errorf("nothing says why %s is dropped", f.Path)
		}
		got += " " + strings.TrimPrefix(f.Path, dir+"/")
	}
	if got != c.want || !strings.Contains(d.Reason, strings.ReplaceAll(c.reason, "PROJECT", dir)) {
		t.Errorf("%s because %q", got, d.Reason)
	}
	if d.Behavior != tool.Deny && d.Confinement != tool.Previewed {
		t.Errorf("the confinement is %q", d.Confinement)
	}
}

func (c *effectCase) preview(dir string) *tool.Preview {
	p := &tool.Preview{Ran: true}
	for _, path := range strings.Fields(c.changed) {
		f := tool.FileChange{After: tool.NewVersion(0o644, []byte("x"), []byte("x"))}
		if name, deleted := strings.CutPrefix(path, "-"); deleted {
			path, f.Before, f.After = name, f.After, nil
		}
		if name, target, link := strings.Cut(path, ">"); link {
			path, f.After = name, tool.NewVersion(fs.ModeSymlink|0o777, []byte(target), []byte(target))
		}
		if f.Path = path; !filepath.IsAbs(path) {
			f.Path = filepath.Join(dir, path)
		}
		if strings.HasPrefix(path, ".git/") && !strings.Contains(path, "hooks") && !strings.Contains(path, "config") {
			f.Folded = tool.FoldedGit
		}
		p.Files = append(p.Files, f)
	}
	return p
}

// What cannot be previewed, or must not be, is asked about as a command.
func TestWhichCommandsArePreviewed(t *testing.T) {
	dir := t.TempDir()
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	set := tool.NewSet(nil, builtin.Unattached(), nil, nil)
	yes := func() bool { return true }
	for name, c := range map[string]struct {
		box   permission.Sandbox
		input string
		want  tool.Confinement
	}{
		"a command":          {permission.Sandbox{Previews: yes}, `{"command":"./x"}`, tool.Previewed},
		"not here":           {permission.Sandbox{}, `{"command":"./x"}`, tool.Unconfined},
		"no sandbox":         {permission.Sandbox{Off: true, Previews: yes}, `{"command":"./x"}`, tool.Unconfined},
		"in the background":  {permission.Sandbox{Previews: yes}, `{"command":"./x","run_in_background":true}`, tool.Unconfined},
		"on request outside": {permission.Sandbox{Previews: yes}, `{"command":"./x","dangerouslyDisableSandbox":true}`, tool.Unconfined},
		"an excluded one":    {permission.Sandbox{Previews: yes, Excluded: []string{"docker"}}, `{"command":"docker build ."}`, tool.Unconfined},
		"only reading":       {permission.Sandbox{Previews: yes}, `{"command":"ls"}`, tool.ReadOnly},
	} {
		p := permission.NewPolicy(permission.Options{Guard: g, Sandbox: c.box})
		d := p.Decide(tool.Case{Tool: set.Lookup("Bash"), Call: &tool.Call{Tool: "Bash", Input: json.RawMessage(c.input)}})
		if d.Confinement != c.want {
			t.Errorf("%s: %v, %q", name, d.Behavior, d.Confinement)
		}
	}
}

func TestConditionsOfRules(t *testing.T) {
	for text, c := range map[string]struct {
		b    tool.Behavior
		want string
	}{
		"Bash(make:*) if Edit(build/**)":    {tool.Allow, ""},
		"Bash if Edit(build/**)":            {tool.Allow, ""},
		"Bash(echo a if Edit(b))":           {tool.Allow, ""}, // a command
		"Bash(make:*) if Edit()":            {tool.Allow, "the parentheses are empty"},
		"Bash(make:*) if Edit([)":           {tool.Allow, "not a valid pattern"},
		"Read(a) if Edit(b)":                {tool.Allow, "only rules about Bash"},
		"Bash(make:*) if Edit(secrets/**) ": {tool.Deny, "only allow rules"},
		"Bash(make:*) if Edit(secrets/*)":   {tool.Ask, "only allow rules"},
	} {
		err := permission.Rule{Text: text, Behavior: c.b}.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
