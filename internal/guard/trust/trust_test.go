package trust_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/tool"
)

const everything = `{
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh --fast"}]}]},
  "mcpServers": {"db": {"command": "db", "args": ["--port", "1"]}},
  "statusLine": {"type": "command", "command": "date"},
  "permissions": {"allow": ["Bash(ls)", "Read"], "additionalDirectories": ["data"]},
  "env": {"COLOR": "1"},
  "model": "x"
}`

func everythingOn(t *testing.T) *machine {
	m := newMachine(t)
	m.write("project/.claude/settings.json", everything)
	m.write("project/check.sh", "exit 0")
	m.write("project/data/x", "")
	m.write("outside/x", "")
	return m
}

// untrusted returns the kinds and names of what is held back.
func (m *machine) untrusted(f *trust.Folder, s *settings.Settings) []string {
	_, held, err := f.Filter(s)
	m.check(err)
	var names []string
	for _, h := range held {
		if h.Never == "" {
			names = append(names, string(h.Kind)+" "+h.Name)
		}
	}
	return names
}

func TestAChangeTakesTrustFromThatItemOnly(t *testing.T) {
	replace := func(old, new string) func(*machine) {
		return func(m *machine) { m.write("project/.claude/settings.json", strings.Replace(everything, old, new, 1)) }
	}
	tests := []struct {
		name   string
		change func(*machine)
		want   []string
	}{
		{"nothing", func(*machine) {}, nil},
		{"only blanks and the order of keys", replace(`"command": "db", "args": ["--port", "1"]`, `"args":["--port","1"],"command":"db"`), nil},
		{"a comment", replace(`"env"`, `/* x */ "env"`), nil},
		{"a hook's command", replace("--fast", "--slow"), []string{"hook PreToolUse Bash"}},
		{"a hook's matcher", replace(`"Bash"`, `"Bash|Edit"`), []string{"hook PreToolUse Bash|Edit"}},
		{"a hook's event", replace("PreToolUse", "PostToolUse"), []string{"hook PostToolUse Bash"}},
		{"a script that a hook names", func(m *machine) { m.write("project/check.sh", "touch pwned") }, []string{"hook PreToolUse Bash"}},
		{"a script that is gone", func(m *machine) { m.check(os.Remove(m.path("project/check.sh"))) }, []string{"hook PreToolUse Bash"}},
		{"another file", func(m *machine) { m.write("project/other.sh", "x") }, nil},
		{"a server's argument", replace(`"1"]`, `"2"]`), []string{"mcp server db"}},
		{"a server's name", replace(`"db":`, `"bd":`), []string{"mcp server bd"}},
		{"a server's type of number", replace(`"--port", "1"`, `"--port", 1`), []string{"mcp server db"}},
		{"the status line", replace(`"date"`, `"date "`), []string{"helper statusLine"}},
		{"a rule", replace(`Bash(ls)`, `Bash(ls *)`), []string{"allow rule Bash(ls *)"}},
		{"one more rule", replace(`"Read"`, `"Read", "Write"`), []string{"allow rule Write"}},
		{"a variable", replace(`"1"}`, `"2"}`), []string{"env COLOR"}},
		{"a setting", replace(`"x"`, `"y"`), []string{"setting model"}},
		{"a folder that becomes a link", func(m *machine) {
			m.check(os.RemoveAll(m.path("project/data")))
			m.check(os.Symlink(m.path("outside"), m.path("project/data")))
		}, []string{"directory data"}},
		{"the file that says it", func(m *machine) {
			m.check(os.MkdirAll(m.path("project/.haft"), 0o755))
			m.check(os.Rename(m.path("project/.claude/settings.json"), m.path("project/.haft/settings.json")))
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := everythingOn(t)
			if err := grantAll(t.Context(), m.folder(), m.load()); err != nil {
				t.Fatal(err)
			}
			tt.change(m)
			if diff := cmp.Diff(tt.want, m.untrusted(m.folder(), m.load())); diff != "" {
				t.Errorf("held back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestItemsAreTrustedOneByOne(t *testing.T) {
	m := everythingOn(t)
	f, s := m.folder(), m.load()
	items := f.Items(s)
	all := []string{
		"hook PreToolUse Bash", "mcp server db", "helper statusLine", "allow rule Bash(ls)", "allow rule Read", "directory data", "env COLOR", "setting model",
	}
	if diff := cmp.Diff(all, m.untrusted(f, s)); diff != "" {
		t.Fatalf("held back (-want +got):\n%s", diff)
	}
	for i, item := range items {
		if ok, err := f.Trusted(item); ok || err != nil {
			t.Errorf("%v: trusted %v, %v before anybody agreed", item, ok, err)
		}
		if err := f.Grant(t.Context(), item); err != nil {
			t.Fatal(err)
		}
		if ok, err := f.Trusted(item); !ok || err != nil {
			t.Errorf("%v: trusted %v, %v after somebody agreed", item, ok, err)
		}
		if diff := cmp.Diff(slices.Clip(all[i+1:]), append([]string{}, m.untrusted(f, s)...)); diff != "" {
			t.Errorf("held back (-want +got):\n%s", diff)
		}
	}
	if err := f.Revoke(t.Context(), items[1]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"mcp server db"}, m.untrusted(f, s)); diff != "" {
		t.Errorf("held back after one was revoked (-want +got):\n%s", diff)
	}
	if err := f.RevokeAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, m.untrusted(f, s)); diff != "" {
		t.Errorf("held back after all were revoked (-want +got):\n%s", diff)
	}
}

func TestTrustStaysInItsRepository(t *testing.T) {
	m := everythingOn(t)
	if err := grantAll(t.Context(), m.folder(), m.load()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"project/nested", "project/folder", "copy", "worktree"} {
		m.write(dir+"/.claude/settings.json", everything)
		m.write(dir+"/check.sh", "exit 0")
		m.write(dir+"/data/x", "")
	}
	m.write("project/nested/.git/HEAD", "")
	m.write("copy/.git/HEAD", "")
	m.write("worktree/.git", "gitdir: "+m.path("project/.git/worktrees/worktree"))
	for _, dir := range []string{"project/nested", "project/folder", "copy", "worktree"} {
		if got := m.untrusted(m.folderOf(dir), m.loadFrom(dir)); len(got) != 8 {
			t.Errorf("%s: only %q are held back", dir, got)
		}
	}

	m.check(os.Rename(m.path("project"), m.path("old")))
	m.check(os.CopyFS(m.path("project"), os.DirFS(m.path("old"))))
	if got := m.untrusted(m.folder(), m.load()); len(got) != 8 {
		t.Errorf("another folder of the same path: only %q are held back", got)
	}
}

func TestARealWorktreeHasItsOwnRoot(t *testing.T) {
	git := needtest.Program(t, "git")
	m := &machine{t, t.TempDir()}
	run := func(dir string, args ...string) {
		cmd := exec.Command(git, args...)
		cmd.Dir = m.path(dir)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	m.write("main/sub/x", "")
	run("main", "init", "-q")
	run("main", "commit", "-q", "--allow-empty", "-m", "x")
	run("main", "worktree", "add", "-q", "../tree")
	roots := map[string]string{}
	for _, dir := range []string{"main", "main/sub", "tree"} {
		root, err := trust.FindRoot(m.path(dir))
		if err != nil {
			t.Fatal(err)
		}
		roots[dir] = m.short(root.Path)
	}
	want := map[string]string{"main": "DIR/main", "main/sub": "DIR/main", "tree": "DIR/tree"}
	if diff := cmp.Diff(want, roots); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
}

func TestAProjectMayOnlyBeStricterThanThePerson(t *testing.T) {
	tests := []struct{ own, project, want, ruling string }{
		{"", "plan", "plan", "counts"},
		{"", "dontAsk", "dontAsk", "counts"},
		{"acceptEdits", "default", "default", "counts"},
		{"bypassPermissions", "acceptEdits", "acceptEdits", "counts"},
		{"plan", "default", "plan", "asks"},
		{"dontAsk", "plan", "dontAsk", "asks"},
		{"plan", "dontAsk", "plan", "asks"},
		{"", "acceptEdits", "", "asks"},
		{"plan", "bypassPermissions", "plan", "never"},
		{"", "auto", "", "never"},
		{"bypassPermissions", "auto", "bypassPermissions", "never"},
		{"", "Plan", "", "never"},
	}
	for _, tt := range tests {
		m := newMachine(t)
		if tt.own != "" {
			m.write("home/.claude/settings.json", fmt.Sprintf(`{"permissions": {"defaultMode": %q}}`, tt.own))
		}
		m.write("project/.claude/settings.json", fmt.Sprintf(`{"permissions": {"defaultMode": %q}}`, tt.project))
		s, held, err := m.folder().Filter(m.load())
		if err != nil {
			t.Fatal(err)
		}
		ruling := "counts"
		if len(held) > 0 {
			ruling = "asks"
			if held[0].Never != "" {
				ruling = "never"
			}
		}
		mode, _ := s.Mode()
		if mode.Text != tt.want || ruling != tt.ruling {
			t.Errorf("own %q, project %q: mode %q, %s; want %q, %s", tt.own, tt.project, mode.Text, ruling, tt.want, tt.ruling)
		}
	}
}

func TestAKeptRuleIsGrantedWithItsItem(t *testing.T) {
	m := newMachine(t)
	f := m.folder()
	target, err := (&settings.Options{Project: m.path("project")}).Target(settings.Local)
	if err != nil {
		t.Fatal(err)
	}
	if err := settings.AddRule(t.Context(), target, tool.Allow, "Bash(go test:*)"); err != nil {
		t.Fatal(err)
	}
	if err := f.Grant(t.Context(), f.Rule("Bash(go test:*)")); err != nil {
		t.Fatal(err)
	}
	s, held, err := f.Filter(m.load())
	if err != nil || held != nil || len(s.Rules(tool.Allow)) != 1 {
		t.Errorf("rules %v, held %v, %v", s.Rules(tool.Allow), held, err)
	}
}

func TestSettingsThroughALinkAreNoItems(t *testing.T) {
	m := newMachine(t)
	m.write("evil/settings.json", everything)
	m.check(os.Symlink(m.path("evil"), m.path("project/.claude")))
	s := m.load()
	if items := m.folder().Items(s); items != nil {
		t.Errorf("items: %v", items)
	}
	if n := len(s.Problems()); n != 2 {
		t.Errorf("%d problems, want one for each file behind the link", n)
	}
}

func TestTheStoreIsPrivateAndLosesNothing(t *testing.T) {
	m := newMachine(t)
	f := m.folder()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if err := f.Grant(t.Context(), f.Item("test", "x", fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 100 {
		if ok, err := f.Trusted(f.Item("test", "x", fmt.Sprint(i))); !ok || err != nil {
			t.Errorf("grant %d is lost: %v", i, err)
		}
	}
	for name, want := range map[string]os.FileMode{"home/.config/haft": 0o700, "home/.config/haft/trust.json": 0o600} {
		if info, err := os.Stat(m.path(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
}

func TestAStoreThatCannotBeBelievedTrustsNothing(t *testing.T) {
	tests := []struct {
		name string
		harm func(*machine, string)
		want string
	}{
		{"text that is no JSON", func(m *machine, p string) { m.check(os.WriteFile(p, []byte("{"), 0o600)) }, "unexpected end"},
		{"a newer version", func(m *machine, p string) { m.check(os.WriteFile(p, []byte(`{"version": 2}`), 0o600)) }, "version 2"},
		{"a file that others may write", func(m *machine, p string) { m.check(os.Chmod(p, 0o666)) }, "others may write"},
		{"a folder", func(m *machine, p string) { m.check(os.Remove(p)); m.check(os.Mkdir(p, 0o700)) }, "not a regular file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := everythingOn(t)
			f, s := m.folder(), m.load()
			if err := grantAll(t.Context(), f, s); err != nil {
				t.Fatal(err)
			}
			tt.harm(m, m.path("home/.config/haft/trust.json"))
			got, held, err := f.Filter(s)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if len(held) != 8 || len(got.Rules(tool.Allow)) != 0 {
				t.Errorf("%d held back, rules %v", len(held), got.Rules(tool.Allow))
			}
		})
	}
}

func TestAStoreInTheProjectIsRefused(t *testing.T) {
	m := newMachine(t)
	if _, err := trust.NewStore(m.path("project/trust.json")).Folder(m.path("project")); err == nil {
		t.Error("a project may hold its own trust")
	}
}

func TestHeadlessRefusalSaysWhatWasLeftOut(t *testing.T) {
	m := everythingOn(t)
	f := m.folder()
	_, held, err := f.Filter(m.load())
	if err != nil {
		t.Fatal(err)
	}
	err = fmt.Errorf("start: %w", trust.NewUntrusted(f, held))
	var refusal *trust.Untrusted
	if !errors.As(err, &refusal) || len(refusal.Items) != 8 {
		t.Fatalf("refusal %v", err)
	}
	want := `start: the project P is not trusted, so these were left out: hook "PreToolUse Bash", mcp server "db", helper "statusLine", 5 more. To review and trust them, run 'haft trust' there`
	if diff := cmp.Diff(want, m.short(strings.ReplaceAll(err.Error(), refusal.Folder, "P"))); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	event, err := json.Marshal(refusal)
	if err != nil || !strings.Contains(string(event), `"kind":"hook"`) || !strings.Contains(string(event), `"origin":{"source":"project"`) {
		t.Errorf("event %s, %v", event, err)
	}
	if trust.NewUntrusted(f, []trust.Held{{Never: "x"}}) != nil {
		t.Error("what never counts is no matter of trust")
	}
}

func BenchmarkLoadAndFilter(b *testing.B) {
	m := &machine{dir: b.TempDir()}
	m.write("project/.git/HEAD", "")
	m.write("project/.claude/settings.json", everything)
	m.write("project/check.sh", "exit 0")
	f := m.folder()
	if err := grantAll(b.Context(), f, m.load()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, held, err := f.Filter(m.load()); err != nil || held != nil {
			b.Fatal(held, err)
		}
	}
}
