package worktree_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/worktree"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// bench is a repository with the tools and the folders that agents are in.
type bench struct {
	t           *testing.T
	root        string
	dirs        map[string]string
	enter, exit tool.Tool
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needtest.Program(t, "git")
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: root, dirs: map[string]string{}}
	b.git(root, "init", "-q", "-b", "main")
	b.write(root, "a.txt", "a\n")
	b.git(root, "add", "-A")
	b.git(root, "commit", "-qm", "first")
	tools := worktree.New(worktree.Options{
		Root: root,
		Dir:  b.dir,
		Move: func(agent, _, dir string) error {
			if dir == "" {
				return errors.New("nowhere to go")
			}
			b.dirs[agent] = dir
			return nil
		},
	})
	b.enter, b.exit = tools[0], tools[1]
	return b
}

func (b *bench) dir(agent string) string {
	if d := b.dirs[agent]; d != "" {
		return d
	}
	return b.root
}

func (b *bench) git(dir string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) write(dir, name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// call runs a tool and returns what the model reads, with the repository as ROOT.
func (b *bench) call(t tool.Tool, agent, in string) string {
	b.t.Helper()
	c := &tool.Call{Agent: agent, Input: []byte(in)}
	if p := t.Validate(b.t.Context(), c); p != nil {
		return "problem: " + strings.ReplaceAll(p.Message, b.root, "ROOT")
	}
	r, err := t.Run(b.t.Context(), c)
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), b.root, "ROOT")
	}
	return strings.ReplaceAll(r.Text(), b.root, "ROOT")
}

func (b *bench) want(got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestConformance(t *testing.T) {
	b := newBench(t)
	leave := func(*testing.T) {
		b.call(b.exit, "", `{"action":"remove","discard_changes":true}`)
		b.call(b.exit, "", `{"action":"keep"}`)
	}
	b.git(b.root, "worktree", "add", "-q", "-b", "side", filepath.Join(b.root, "..", "side"))
	t.Cleanup(func() { os.RemoveAll(filepath.Join(b.root, "..", "side")) })
	tooltest.Run(t, tooltest.Subject{Tool: b.enter, Valid: []string{`{"name":"x"}`, `{}`, `{"path":"../side"}`}, Reset: leave})
	tooltest.Run(t, tooltest.Subject{Tool: b.exit, Valid: []string{`{"action":"keep"}`, `{"action":"remove"}`, `{"action":"remove","discard_changes":true}`}, Reset: func(t *testing.T) {
		leave(t)
		b.call(b.enter, "", `{}`)
	}})
}

func TestInAndOut(t *testing.T) {
	b := newBench(t)
	b.want(b.call(b.exit, "", `{"action":"keep"}`), "problem: You are not in a worktree that EnterWorktree entered, so there is nothing to leave.")
	b.want(b.call(b.enter, "", `{"name":"fix"}`), "You are in the worktree ROOT/.worktrees/fix on the branch worktree-fix. Commands start there. Give file tools absolute paths inside it: the main copy has its own files.")
	tree := b.dir("")
	b.want(b.call(b.enter, "", `{"name":"more"}`), "problem: You are already in the worktree ROOT/.worktrees/fix. Leave it with ExitWorktree first.")
	if b.dir("a1") != b.root {
		t.Error("another agent was moved")
	}
	b.want(b.call(b.enter, "a1", `{"name":"fix"}`), "error: Could not enter the worktree: ROOT/.worktrees/fix already exists.")
	b.want(b.call(b.exit, "", `{"action":"keep"}`), "You are back in ROOT. The worktree ROOT/.worktrees/fix is kept; to enter it again, call EnterWorktree with its path.")
	b.want(b.call(b.enter, "", `{"path":"`+tree+`"}`), "You are in the worktree ROOT/.worktrees/fix on the branch worktree-fix. Commands start there. Give file tools absolute paths inside it: the main copy has its own files.")
	b.want(b.call(b.exit, "", `{"action":"remove"}`), "problem: ROOT/.worktrees/fix existed before you entered it, so ExitWorktree does not remove it. Leave it with the action keep.")
	b.call(b.exit, "", `{"action":"keep"}`)
	b.want(b.call(b.enter, "", `{"path":"`+b.root+`"}`), "error: Could not enter the worktree: ROOT is the main working tree, not a worktree.")
	b.want(b.call(b.enter, "", `{"name":"a","path":"b"}`), "problem: Give a name for a new worktree or the path of an existing one, not both.")
	b.want(b.call(b.enter, "", `{"name":"../a"}`), `problem: "../a" is not a valid worktree name: use up to 64 letters, digits, dots, dashes and underscores, and start with a letter or digit.`)
	b.want(b.call(b.enter, "", `{"path":"/nowhere"}`), "error: Could not enter the worktree: stat /nowhere: no such file or directory.")
}

func TestWorkIsNeverLost(t *testing.T) {
	b := newBench(t)
	b.call(b.enter, "", `{"name":"fix"}`)
	tree := b.dir("")
	b.write(tree, "a.txt", "changed\n")
	b.write(tree, "new.txt", "new\n")
	b.want(b.call(b.exit, "", `{"action":"remove"}`), "error: The worktree ROOT/.worktrees/fix was not removed because it contains work that exists nowhere else:\n"+
		"- uncommitted change: M a.txt\n- uncommitted change: ?? new.txt\n"+
		"Commit and merge that work, leave the worktree with the action keep, or ask the user whether to discard it with discard_changes.")
	if b.dir("") != tree {
		t.Error("the session left a worktree that was not removed")
	}
	b.git(tree, "add", "-A")
	b.git(tree, "commit", "-qm", "second")
	b.want(b.call(b.exit, "", `{"action":"remove"}`), "You are back in ROOT. The worktree ROOT/.worktrees/fix is removed. Its branch worktree-fix is kept, because it has commits that are nowhere else.")
	b.want(b.git(b.root, "show", "worktree-fix:new.txt"), "new")

	b.call(b.enter, "", `{"name":"other"}`)
	b.git(b.dir(""), "checkout", "-q", "-b", "renamed")
	b.write(b.dir(""), "gone.txt", "gone\n")
	got := b.call(b.exit, "", `{"action":"remove","discard_changes":true}`)
	before, ref, ok := strings.Cut(got, "git branch NAME ")
	if !ok || !strings.Contains(before, "What was discarded is kept as refs/haft/discarded/other-") {
		t.Fatal(got)
	}
	b.want(b.git(b.root, "show", ref+":gone.txt"), "gone")
}

func TestWithoutARepositoryItSaysSo(t *testing.T) {
	dir := t.TempDir()
	tools := worktree.New(worktree.Options{Root: dir, Dir: func(string) string { return dir }, Move: func(string, string, string) error { return nil }})
	_, err := tools[0].Run(t.Context(), &tool.Call{Input: []byte(`{}`)})
	if err == nil || !strings.Contains(err.Error(), "is not in a git repository with a commit. Work where you are.") {
		t.Error(err)
	}
}

func TestOnlyARemovalIsAsked(t *testing.T) {
	b := newBench(t)
	b.call(b.enter, "", `{"name":"fix"}`)
	for in, want := range map[string]tool.Verdict{
		`{"action":"keep"}`:                          {Behavior: tool.Allow, Reason: "leaving a worktree changes nothing"},
		`{"action":"remove"}`:                        {Behavior: tool.Ask, Message: "Remove the worktree " + b.dir("") + "?"},
		`{"action":"remove","discard_changes":true}`: {Behavior: tool.Ask, Message: "Remove the worktree " + b.dir("") + " and discard the work that is only in it?"},
	} {
		if got := b.exit.Permission(t.Context(), &tool.Call{Input: []byte(in)}); got.Behavior != want.Behavior || got.Message != want.Message || got.Reason != want.Reason {
			t.Errorf("%s: %+v", in, got)
		}
	}
	if m := b.exit.MarksOf(&tool.Call{Input: []byte(`{"action":"remove","discard_changes":true}`)}); !m.Destructive || m.ReadOnly {
		t.Errorf("%+v", m)
	}
}
