//go:build unix

package permission_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// TestThePathCorpus holds the whole policy, in the mode that accepts edits and
// without rules, to the labels that the guard alone is held to.
func TestThePathCorpus(t *testing.T) {
	file, err := os.Open("../../world/workspace/guard/testdata/path.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var c struct{ Tool, Path, Setup, Socket, Cwd, Expect, Why string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Tool+" "+c.Why, func(t *testing.T) {
			dir, home := project(t)
			cmd := exec.Command("bash", "-c", "cd $P\n"+c.Setup)
			cmd.Env = append(os.Environ(), "P="+dir, "HOME="+home)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("setup: %v\n%s", err, out)
			}
			if c.Socket != "" {
				needtest.Socket(t, filepath.Join(dir, c.Socket))
			}
			g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: home, Cwd: strings.ReplaceAll(c.Cwd, "$P", dir)})
			if err != nil {
				t.Fatal(err)
			}
			input, err := json.Marshal(map[string]string{"file_path": strings.ReplaceAll(c.Path, "$P", dir)})
			if err != nil {
				t.Fatal(err)
			}
			p := permission.NewPolicy(permission.Options{Mode: permission.AcceptEdits, Guard: g, Home: home})
			d := p.Decide(called(c.Tool, input))
			if d.Behavior.String() != c.Expect {
				t.Errorf("%s: %s (%s), want %s", input, d.Behavior, d.Reason, c.Expect)
			}
		})
	}
}

// A rule that allows must hold for what a link is called and for where it leads; for a
// rule that denies either is enough.
func TestARuleAndALinkThatLeavesWhatItAllows(t *testing.T) {
	dir, home := project(t)
	for _, d := range []string{"open", "closed"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"open/out": "../closed/f", "closed/in": "../open/f", "open/same": "f"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"open/f", "closed/f"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		behavior tool.Behavior
		path     string
		want     tool.Behavior
	}{
		{tool.Allow, "open/f", tool.Allow},
		{tool.Allow, "open/same", tool.Allow},
		{tool.Allow, "open/out", tool.Ask},
		{tool.Allow, "closed/in", tool.Ask},
		{tool.Deny, "open/out", tool.Deny},
		{tool.Deny, "closed/in", tool.Deny},
		{tool.Deny, "closed/f", tool.Ask},
	} {
		rule := permission.Rule{Text: "Edit(/open/**)", Behavior: c.behavior, Origin: settings.Origin{Source: settings.Project}}
		p := permission.NewPolicy(permission.Options{Rules: []permission.Rule{rule}, Trusted: true, Guard: g, Home: home})
		input, err := json.Marshal(map[string]string{"file_path": filepath.Join(dir, c.path)})
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(called("Edit", input)); d.Behavior != c.want {
			t.Errorf("%s Edit(/open/**), %s: %s (%s), want %s", c.behavior, c.path, d.Behavior, d.Reason, c.want)
		}
	}
}

// project makes a project folder and a home beside it.
func project(t *testing.T) (dir, home string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, home = filepath.Join(base, "p"), filepath.Join(base, "p.home")
	for _, d := range []string{dir, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { exec.Command("chmod", "-R", "u+rwx", base).Run() })
	return dir, home
}
