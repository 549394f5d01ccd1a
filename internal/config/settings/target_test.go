package settings_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/tool"
)

func TestMain(m *testing.M) {
	// The test starts itself as other processes that keep a rule.
	if path, rule, ok := strings.Cut(os.Getenv("KEEP_RULE"), "|"); ok {
		if err := settings.AddRule(context.Background(), settings.Target{Path: path}, tool.Allow, rule); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const before = "{\n  // mine\n  \"model\": \"x\"\n}\n"

// kept returns the allow rules in a file, sorted, and checks that the comment is there.
func kept(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "// mine\n") {
		t.Errorf("the comment is lost:\n%s", text)
	}
	f, err := settings.Parse(settings.User, path, text)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, r := range settings.Of(f).Rules(tool.Allow) {
		rules = append(rules, r.Text)
	}
	slices.Sort(rules)
	return rules
}

func numbered(n int) []string {
	var rules []string
	for i := range n {
		rules = append(rules, fmt.Sprintf("Bash(%03d)", i))
	}
	return rules
}

func TestAHundredGrantsAtOnceLoseNone(t *testing.T) {
	p := newPlace(t)
	path := p.write(p.home, "settings.json", before)
	rules := numbered(100)
	var wg sync.WaitGroup
	for _, rule := range rules {
		wg.Go(func() {
			if err := settings.AddRule(t.Context(), settings.Target{Path: path}, tool.Allow, rule); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(rules, kept(t, path)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("something is left behind: %v %v", entries, err)
	}
}

func TestGrantsOfManyProcessesLoseNone(t *testing.T) {
	p := newPlace(t)
	path := p.write(p.home, "settings.json", before)
	n := 20
	if os.Getenv("HAFT_TORTURE") != "" {
		n = 100
	}
	rules := numbered(n)
	var wg sync.WaitGroup
	for _, rule := range rules {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "KEEP_RULE="+path+"|"+rule)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(rules, kept(t, path)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestAKilledProcessLeavesAWholeFile(t *testing.T) {
	p := newPlace(t)
	path := p.write(p.home, "settings.json", before)
	for i, rule := range numbered(20) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "KEEP_RULE="+path+"|"+rule)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * time.Millisecond) // before, in or after the change
		cmd.Process.Kill()
		cmd.Wait()
		kept(t, path)
	}
	if err := settings.AddRule(t.Context(), settings.Target{Path: path}, tool.Allow, "Last"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("something is left behind: %v %v", entries, err)
	}
}

func TestTheTargetOfASource(t *testing.T) {
	p := newPlace(t)
	target := func(source settings.Source) string {
		got, err := p.options().Target(source)
		if err != nil {
			return err.Error()
		}
		return strings.NewReplacer(p.home, "~", p.project, "P").Replace(got.Path + " in " + got.Root)
	}
	got := []string{target(settings.Local), target(settings.User), target(settings.Managed)}
	if err := os.Mkdir(filepath.Join(p.project, ".haft"), 0o755); err != nil {
		t.Fatal(err)
	}
	got = append(got, target(settings.Local), target(settings.Project))
	want := []string{
		"P/.claude/settings.local.json in P",
		"~/.claude/settings.json in ",
		"rules cannot be saved in managed settings: use local, project or user",
		"P/.haft/settings.local.json in P",
		"P/.haft/settings.json in P",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func TestAFirstRuleMakesFolderAndFile(t *testing.T) {
	p := newPlace(t)
	target, err := p.options().Target(settings.Local)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := settings.AddRule(t.Context(), target, tool.Deny, `Bash(echo "a")`); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(target.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash(echo \\\"a\\\")\"\n    ]\n  }\n}\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if err := settings.RemoveRule(t.Context(), target, tool.Deny, `Bash(echo "a")`); err != nil {
		t.Fatal(err)
	}
	if rules := p.load().Rules(tool.Deny); rules != nil {
		t.Errorf("rules after removal: %v", rules)
	}
}

func TestARuleIsNotKeptThroughALinkInAProject(t *testing.T) {
	for _, link := range []string{".claude", ".claude/settings.local.json"} {
		p := newPlace(t)
		user := p.write(p.home, "evil/settings.local.json", before)
		if link == ".claude" {
			user = filepath.Dir(user)
		} else {
			p.write(p.project, ".claude/x", "")
		}
		if err := os.Symlink(user, filepath.Join(p.project, link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
		target, err := p.options().Target(settings.Local)
		if err != nil {
			t.Fatal(err)
		}
		if err := settings.AddRule(t.Context(), target, tool.Allow, "Bash"); err == nil {
			t.Errorf("%s: a rule went through the link", link)
		}
		if rules := kept(t, filepath.Join(p.home, "evil/settings.local.json")); rules != nil {
			t.Errorf("%s: rules outside the project: %v", link, rules)
		}
	}
}

func TestAUsersLinkStaysALink(t *testing.T) {
	p := newPlace(t)
	real := p.write(p.home, "dotfiles/claude.json", before)
	p.write(p.home, ".claude/x", "")
	link := filepath.Join(p.home, ".claude/settings.json")
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	if err := os.Chmod(real, 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := p.options().Target(settings.User)
	if err != nil {
		t.Fatal(err)
	}
	if err := settings.AddRule(t.Context(), target, tool.Allow, "Bash"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Bash"}, kept(t, real)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if got, err := os.Readlink(link); err != nil || got != real {
		t.Errorf("the link is %q, %v", got, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode changed: %v, %v", info.Mode(), err)
	}
}

func TestRemovingFromNothingMakesNoFile(t *testing.T) {
	p := newPlace(t)
	path := filepath.Join(p.home, "settings.json")
	if err := settings.RemoveRule(t.Context(), settings.Target{Path: path}, tool.Allow, "Bash"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("there is a file: %v", err)
	}
}

func TestABrokenFileIsNotOverwritten(t *testing.T) {
	p := newPlace(t)
	path := p.write(p.home, "settings.json", "{ oops // mine\n")
	err := settings.AddRule(t.Context(), settings.Target{Path: path}, tool.Allow, "Bash")
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "{ oops // mine\n" {
		t.Errorf("the file became %q", text)
	}
}
