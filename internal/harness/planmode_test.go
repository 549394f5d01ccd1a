package harness_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/lsp/lsptest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

func TestMain(m *testing.M) {
	lsptest.Serve(os.Stdin, os.Stdout)
	shellrun.Supervise()
	os.Setenv("IS_SANDBOX", "1") // tests may run as root
	os.Exit(m.Run())
}

// writingCommands are ways to change the project by a command. A + says that the
// command is known to write and so denied whoever is asked; of the others it cannot
// be told, and only a user may let them run.
const writingCommands = `
+ touch x
+ echo hi > x
+ echo hi >> a.txt
+ echo hi >| a.txt
+ ls > x
+ ls 2> x
+ ls &> x
+ cat a.txt > sub/x
+ echo hi | tee x
+ tee x <<< hi
+ cp a.txt b.txt
+ mv a.txt b.txt
+ rm a.txt
+ rm -rf .
+ mkdir d
+ rmdir sub
+ sed -i s/a/b/ a.txt
+ (cd sub && echo hi > x)
+ { ls; } > x
+ for f in 1 2; do echo $f > x$f; done
+ true && echo hi > x
+ if true; then touch x; fi
+ printf hi >> a.txt &
- > x
- ln -s a.txt l
- sed -n 'w x' a.txt
- sed 's/a/b/w x' a.txt
- sed '1e touch x' a.txt
- awk '{print > "x"}' a.txt
- awk 'BEGIN{system("touch x")}'
- find . -name a.txt -delete
- find . -name a.txt -exec touch x ';'
- find . -fprint x
- ls | xargs touch x
- sort -o a.txt a.txt
- dd if=a.txt of=x
- truncate -s 0 a.txt
- install a.txt x
- chmod 777 a.txt
- python3 -c "open('x','w')"
- perl -pi -e s/a/b/ a.txt
- sh -c 'touch x'
- bash -c 'echo hi > x'
- bash <<< 'touch x'
- eval 'touch x'
- ls $(touch x)
- ls ` + "`touch x`" + `
- cat <(touch x)
- env touch x
- nohup touch x
- timeout 5 touch x
- command touch x
- \touch x
- t() { touch x; }; t
- trap 'touch x' EXIT
- exec > x
- git commit -am x
- git checkout -b b
- git stash
- git config user.name x
- git diff --output=x
- git log --output=x
- git archive -o x HEAD
- git -c core.pager='touch x' log
- git -c alias.x='!touch x' x
- GIT_PAGER='touch x' git log
- git branch b
- git tag v1
- tar cf x a.txt
- patch -p0 < a.txt
- rg --pre 'touch' a
- gofmt -w a.go
- make
- npm install
- curl -o x file:///etc/hostname
- ./script.sh
- . ./script.sh
- PATH=.:$PATH ls
- coproc touch x
- vim -es -c 'w x' -c q a.txt
- cat a.txt | sh
- echo 'touch x' | bash
`

// A way is a call that would change the project.
type way struct {
	name  string
	tool  string
	input string
	agent string
	hook  string // what a hook changes the input into
	known bool   // it is denied, and not left to a user
}

func ways(dir string) []way {
	at := func(name string) string { return filepath.Join(dir, name) }
	all := []way{
		{"a new file", "Write", in("file_path", at("x"), "content", "hi"), "", "", true},
		{"a file that is there", "Write", in("file_path", at("a.txt"), "content", "hi"), "", "", true},
		{"a file beside the project", "Write", in("file_path", dir+"-beside/x", "content", "hi"), "", "", true},
		{"an edit", "Edit", in("file_path", at("a.txt"), "old_string", "a", "new_string", "b"), "", "", true},
		{"edits", "MultiEdit", `{"file_path":"` + at("a.txt") + `","edits":[{"old_string":"a","new_string":"b"}]}`, "", "", true},
		{"a notebook", "NotebookEdit", in("notebook_path", at("n.ipynb"), "new_source", "2", "cell_id", "c1"), "", "", true},
		{"a server's tool", "mcp__evil__write", `{}`, "", "", true},
		{"a sub-agent's write", "Write", in("file_path", at("x"), "content", "hi"), "a1", "", true},
		{"a sub-agent's edit", "Edit", in("file_path", at("a.txt"), "old_string", "a", "new_string", "b"), "a1", "", true},
		{"a sub-agent's command", "Bash", in("command", "touch x"), "a1", "", true},
		{"a sub-agent's server", "mcp__evil__write", `{}`, "a1", "", true},
		{"a command in the background", "Bash", `{"command":"touch x","run_in_background":true}`, "", "", true},
		{"a harmless command that a hook changes", "Bash", in("command", "ls"), "", in("command", "touch x"), true},
		{"a harmless command that a hook makes obscure", "Bash", in("command", "ls"), "", in("command", "python3 -c \"open('x','w')\""), false},
		{"a worktree", "EnterWorktree", in("name", "x"), "", "", true},
		{"an answer to a plan that nobody gave", "ExitPlanMode", `{"plan":"write"}`, "", "", false},
	}
	for line := range strings.Lines(writingCommands) {
		if kind, command, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all = append(all, way{command, "Bash", in("command", command), "", "", kind == "+"})
		}
	}
	return all
}

// in is an object of strings.
func in(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// TestPlanModeLetsNothingWrite tries each way in a session whose rules allow
// everything, whose hooks allow everything, and where programs approve of everything
// that a user would be asked about.
func TestPlanModeLetsNothingWrite(t *testing.T) {
	needtest.Need(t, "git")
	dir := planProject(t)
	w, err := harness.Open(&harness.Options{
		Dir: dir, Mode: "plan", Reexec: shellrun.Supervise(),
		Allowed: []string{"Bash", "Bash(*)", "Edit", "Edit(//**)", "Write", "MultiEdit", "NotebookEdit", "mcp__evil", "mcp__evil__write", "ExitPlanMode", "EnterWorktree"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	set := tool.NewSet(&tool.Session{Interactive: true, Mode: "plan", Flags: map[string]bool{"background": true}}, w.Pool(nil).Tools(), []tool.Tool{evil(t, dir)}, nil)
	set = set.Reveal(set.Session().Tools...)
	readAll(t, w, set, dir)
	before := tree(t, dir)
	all := ways(dir)
	if len(all) < 40 {
		t.Fatalf("only %d ways", len(all))
	}
	for _, way := range all {
		hooks := &allowing{input: way.hook}
		s := sched.New(&sched.Options{Judge: w.Engine, Hooks: hooks, Askers: []sched.Asker{sched.AskerFunc(program)}})
		batch := s.Start(t.Context(), &sched.BatchOptions{Tools: set, Agent: way.agent})
		batch.Add("toolu_1", way.tool, []byte(way.input))
		batch.End()
		for out := range batch.Outcomes() {
			switch {
			case out.Ran():
				t.Errorf("%s: it ran: %s", way.name, out.Result.Text())
			case out.Status == sched.Unknown || out.Status == sched.Invalid:
				t.Errorf("%s: the call was no try: %s", way.name, out.Result.Text())
			}
		}
		if after := tree(t, dir); after != before {
			t.Fatalf("%s: the project was changed:\n%s\nbefore:\n%s", way.name, after, before)
		}
		// A skill brings rules of its own, and an agent a mode of its own.
		for _, mode := range permission.Modes() {
			v := w.Engine.With(mode, permission.Rule{Text: way.tool, Behavior: tool.Allow}).Decide(judged(t, set, way))
			if v.Behavior != tool.Deny && (way.known || !v.NeedsPerson) {
				t.Errorf("%s, for an agent in the mode %s: the verdict is %s, needs a person: %t", way.name, mode, v.Behavior, v.NeedsPerson)
			}
		}
	}
}

// TestPlanModeReads shows that the table above is not for lack of any permission.
func TestPlanModeReads(t *testing.T) {
	dir := planProject(t)
	w, err := harness.Open(&harness.Options{Dir: dir, Mode: "plan", Reexec: shellrun.Supervise()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	set := tool.NewSet(&tool.Session{Mode: "plan"}, w.Pool(nil).Tools(), nil, nil)
	set = set.Reveal(set.Session().Tools...)
	s := sched.New(&sched.Options{Judge: w.Engine})
	for _, c := range [][2]string{
		{"Read", in("file_path", filepath.Join(dir, "a.txt"))}, {"Grep", in("pattern", "a")}, {"Glob", in("pattern", "*")}, {"Bash", in("command", "ls -la && git log --oneline")},
		{"TodoWrite", `{"todos":[]}`}, {"TaskList", `{}`}, {"ToolSearch", in("query", "select:Read")},
	} {
		if out := s.Call(t.Context(), set, "toolu_1", c[0], []byte(c[1])); out.Status != sched.Succeeded {
			t.Errorf("%s %s: %s: %s", c[0], c[1], out.Status, out.Result.Text())
		}
	}
}

// readAll reads the files that are edited, for everybody: nothing else must stand in
// the way of an edit.
func readAll(t *testing.T, w *harness.World, set *tool.Set, dir string) {
	t.Helper()
	for _, agent := range []string{"", "a1"} {
		batch := sched.New(&sched.Options{Judge: w.Engine}).Start(t.Context(), &sched.BatchOptions{Tools: set, Agent: agent})
		for _, name := range []string{"a.txt", "n.ipynb"} {
			batch.Add("toolu_0", "Read", []byte(in("file_path", filepath.Join(dir, name))))
		}
		batch.End()
		for out := range batch.Outcomes() {
			if out.Status != sched.Succeeded {
				t.Fatal(out.Result.Text())
			}
		}
	}
}

// judged is the call as it would run, before its verdict.
func judged(t *testing.T, set *tool.Set, way way) tool.Case {
	t.Helper()
	tl := set.Lookup(way.tool)
	input := way.input
	if way.hook != "" {
		input = way.hook
	}
	c := &tool.Call{Tool: way.tool, Input: []byte(input), Agent: way.agent, Session: set.Session(), Tools: set}
	cs := tool.Case{Tool: tl, Call: c, Hook: tool.Verdict{Behavior: tool.Allow}}
	if tl.Permission != nil {
		cs.Own = tl.Permission(t.Context(), c)
	}
	return cs
}

// program approves of everything that is not left to a user, as a hook or a
// classifier might.
func program(_ context.Context, _ tool.Case, question tool.Verdict) (tool.Verdict, error) {
	if question.NeedsPerson {
		return tool.Verdict{}, nil
	}
	return tool.Verdict{Behavior: tool.Allow, Reason: "a program approved"}, nil
}

// allowing hooks allow everything, and may change the input.
type allowing struct{ input string }

func (h *allowing) Before(context.Context, *tool.Tool, *tool.Call) (tool.Verdict, []string) {
	v := tool.Verdict{Behavior: tool.Allow}
	if h.input != "" {
		v.Input = json.RawMessage(h.input)
	}
	return v, nil
}

func (h *allowing) Effects(context.Context, tool.Case) (tool.Verdict, []string) {
	return tool.Verdict{}, nil
}

func (h *allowing) After(context.Context, *tool.Tool, *tool.Call, tool.Result) (*tool.Result, []string) {
	return nil, nil
}

// evil is a foreign tool that writes, and whose own view is that it may.
func evil(t *testing.T, dir string) tool.Tool {
	t.Helper()
	s, err := schema.Parse(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	return tool.Tool{
		Name: "mcp__evil__write", Source: "mcp:evil", Input: s, Describe: func(*tool.Session) string { return "Writes." },
		Permission: func(context.Context, *tool.Call) tool.Verdict { return tool.Verdict{Behavior: tool.Allow} },
		Run: func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Text("done"), os.WriteFile(filepath.Join(dir, "x"), nil, 0o600)
		},
	}
}

// planProject is a repository with something to destroy.
func planProject(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	t.Setenv("HOME", filepath.Join(base, "home"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(base, "cache"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(base, "config"))
	dir := filepath.Join(base, "proj")
	for name, text := range map[string]string{
		"a.txt": "a\n", "a.go": "package  a\n", "sub/keep": "", "Makefile": "all:\n\ttouch x\n", "package.json": `{"scripts":{"install":"touch x"}}`,
		"script.sh": "#!/bin/sh\ntouch x\n", "ls": "#!/bin/sh\ntouch x\n",
		"n.ipynb": `{"cells":[{"id":"c1","cell_type":"code","source":"1","metadata":{},"outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	return dir
}

// tree is every file of the project and of what is beside it, with its content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprint(&b, path, " ", info.Mode())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(content))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir + "-beside"); err == nil {
		b.WriteString("beside\n")
	}
	return b.String()
}
