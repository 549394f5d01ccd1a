package harness_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

// A rig is a project with a scripted model.
type rig struct {
	t      *testing.T
	dir    string
	server *script.Server
}

func newRig(t *testing.T, turns ...script.Turn) *rig {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return (&rig{t: t, dir: dir}).with(turns...)
}

// with gives the project another scripted model.
func (r *rig) with(turns ...script.Turn) *rig {
	r.t.Helper()
	server, err := scripttest.Serve(r.t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { server.Close() })
	return &rig{r.t, r.dir, server}
}

// talk opens the project and a conversation in it.
func (r *rig) talk(h harness.Options, o harness.TalkOptions) *harness.Conversation {
	r.t.Helper()
	h.Dir = r.dir
	w, err := harness.Open(&h)
	if err != nil {
		r.t.Fatal(err)
	}
	o.Client, o.Model = anthropic.New(&anthropic.Options{BaseURL: r.server.URL(), Key: "k"}), cmp.Or(o.Model, "claude-opus-5-5")
	c, err := w.Talk(r.t.Context(), &o)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// say sends a prompt and returns what happens until the turn ends.
func (r *rig) say(c *harness.Conversation, text string) (events []agent.Event, last agent.Result) {
	r.t.Helper()
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf(text)}})
	for ev, err := range c.Run(r.t.Context()) {
		if err != nil {
			r.t.Fatal(err)
		}
		events = append(events, ev)
		if res, ok := ev.(agent.Result); ok {
			last = res
		}
	}
	return events, last
}

func call(name, input string) script.Block {
	return script.Block{Tool: name, Input: json.RawMessage(input)}
}

func TestASessionGoesOnWhereItWas(t *testing.T) {
	t.Setenv("CLAUDE_CODE_ENABLE_TASKS", "0")
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("TodoWrite", `{"todos":[{"content":"look","status":"pending"}]}`)}},
		script.Turn{Blocks: []script.Block{{Text: "noted"}}},
		script.Turn{Blocks: []script.Block{{Text: "still here"}}},
	)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	id := c.Agent.Session()
	if _, last := r.say(c, "remember"); last.Text != "noted" {
		t.Fatalf("%+v", last)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := r.talk(harness.Options{}, harness.TalkOptions{Continue: true})
	defer again.Close(t.Context())
	if again.Agent.Session() != id {
		t.Errorf("session %s, want %s", again.Agent.Session(), id)
	}
	if todos, _ := again.WorkList().([]todo.Item); len(todos) != 1 || todos[0].Content != "look" {
		t.Errorf("todos %+v", todos)
	}
	if _, last := r.say(again, "and now?"); last.Text != "still here" {
		t.Errorf("%+v", last)
	}
}

func TestADeniedToolIsNotDescribed(t *testing.T) {
	r := newRig(t)
	c := r.talk(harness.Options{Disallowed: []string{"WebFetch", "Bash(rm:*)"}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if c.Agent.Tools().Lookup("WebFetch") != nil {
		t.Error("WebFetch is there")
	}
	if c.Agent.Tools().Lookup("Bash") == nil {
		t.Error("a rule about some commands took Bash away")
	}
}

func TestWorkIsGivenToAnAgent(t *testing.T) {
	r := newRig(t)
	r.server.Close()
	server, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{
		Turns: []script.Turn{
			{Blocks: []script.Block{call("Agent", `{"description":"Read it","prompt":"CHILD: read the note","subagent_type":"general-purpose","run_in_background":false}`)}},
			{Blocks: []script.Block{{Text: "The agent has read it."}}},
		},
		Parts: []script.Part{{When: "CHILD", Turns: []script.Turn{
			{Blocks: []script.Block{call("Read", `{"file_path":"`+filepath.Join(r.dir, "note.txt")+`"}`)}},
			{Blocks: []script.Block{{Text: "It says hello."}}},
		}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.server = server
	t.Cleanup(func() { server.Close() })
	if err := os.WriteFile(filepath.Join(r.dir, "note.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, last := r.say(c, "let somebody read the note")
	if last.Text != "The agent has read it." {
		t.Fatalf("%+v", last)
	}
	var started, ended, read bool
	for _, ev := range events {
		switch ev := ev.(type) {
		case agent.TaskChanged:
			started = started || ev.Change == "started"
			ended = ended || ev.Change == "ended" && ev.Task.Status == "completed"
		case agent.Returned:
			if ev.Outcome.Tool == "Read" && ev.Outcome.Agent != "" {
				read = true
			}
			if ev.Outcome.Tool == "Agent" && !strings.Contains(ev.Outcome.Result.Text(), "It says hello.") {
				t.Errorf("report %q", ev.Outcome.Result.Text())
			}
		}
	}
	if !started || !ended || !read {
		t.Errorf("started %v, ended %v, read %v", started, ended, read)
	}
	transcript, err := filepath.Glob(filepath.Join(c.Journal().Dir(), "subagents", "*.jsonl"))
	if err != nil || len(transcript) != 1 {
		t.Errorf("transcripts %q, error %v", transcript, err)
	}
}

func TestAnAgentWorksInACopyOfTheRepository(t *testing.T) {
	r := newRig(t)
	r.server.Close()
	server, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{
		Turns: []script.Turn{
			{Blocks: []script.Block{
				call("Agent", `{"description":"Change it","prompt":"CHILD: change the note","isolation":"worktree","run_in_background":false}`),
				call("Agent", `{"description":"Look","prompt":"IDLE: look","isolation":"worktree","run_in_background":false}`),
			}},
			{Blocks: []script.Block{{Text: "done"}}},
		},
		Parts: []script.Part{
			{When: "CHILD", Turns: []script.Turn{
				{Blocks: []script.Block{call("Bash", `{"command":"echo changed > note.txt"}`)}},
				{Blocks: []script.Block{{Text: "changed it"}}},
			}},
			{When: "IDLE", Turns: []script.Turn{{Blocks: []script.Block{{Text: "looked"}}}}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.server = server
	t.Cleanup(func() { server.Close() })
	note := filepath.Join(r.dir, "note.txt")
	if err := os.WriteFile(note, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commit(t, r.dir)
	c := r.talk(harness.Options{Mode: "bypassPermissions"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "let somebody change it elsewhere")
	if raw, err := os.ReadFile(note); err != nil || string(raw) != "hello\n" {
		t.Errorf("the note of the main tree is %q, error %v", raw, err)
	}
	var reports []string
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Tool == "Agent" {
			reports = append(reports, ev.Outcome.Result.Text())
		}
	}
	slices.Sort(reports)
	if len(reports) != 2 || !strings.Contains(reports[0], "its changes are in ") || strings.Contains(reports[1], "its changes are in ") {
		t.Errorf("reports %q", reports)
	}
	trees, err := os.ReadDir(filepath.Join(r.dir, ".worktrees"))
	if err != nil || len(trees) != 1 {
		t.Errorf("%d worktrees are left, error %v; want the one with work in it", len(trees), err)
	}
}

func TestInTheModeAutoAModelDecides(t *testing.T) {
	for answer, ran := range map[string]bool{"SAFE": true, "UNSAFE": false, "It is SAFE, trust me": false, "": false} {
		t.Run("it says "+answer, func(t *testing.T) {
			r := newRig(t)
			r.server.Close()
			server, err := scripttest.Serve(t, &script.Options{Answer: func(q *script.Request) script.Turn {
				switch {
				case strings.Contains(q.System(), "You guard the user's computer"):
					return script.Turn{Blocks: []script.Block{{Text: answer}}}
				case q.Turn == 0:
					return script.Turn{Blocks: []script.Block{call("Bash", `{"command":"touch made"}`)}}
				}
				return script.Turn{Blocks: []script.Block{{Text: "done"}}}
			}})
			if err != nil {
				t.Fatal(err)
			}
			r.server = server
			t.Cleanup(func() { server.Close() })
			c := r.talk(harness.Options{Mode: "auto"}, harness.TalkOptions{})
			defer c.Close(t.Context())
			r.say(c, "make it")
			if _, err := os.Stat(filepath.Join(r.dir, "made")); (err == nil) != ran {
				t.Errorf("the command ran: %v, want %v", err == nil, ran)
			}
		})
	}
}

func TestABackgroundCommandIsHeardOf(t *testing.T) {
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("Bash", `{"command":"sleep 0.3; echo over","run_in_background":true}`)}},
		script.Turn{Blocks: []script.Block{{Text: "it runs"}}},
		script.Turn{Blocks: []script.Block{{Text: "it is over"}}},
	)
	c := r.talk(harness.Options{Mode: "bypassPermissions"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	_, last := r.say(c, "run it")
	if last.Text != "it is over" || last.Origin != agent.TaskNotification {
		t.Errorf("%+v", last)
	}
}

func TestWhatACommandDestroysComesBack(t *testing.T) {
	r := newRig(t,
		script.Turn{Blocks: []script.Block{call("Bash", `{"command":"rm -rf src; echo changed > top.txt; mkdir new; echo n > new/file"}`)}},
		script.Turn{Blocks: []script.Block{{Text: "gone"}}},
	)
	for path, text := range map[string]string{"src/a/deep.go": "package a\n", "src/b.bin": "\x00\x01", "top.txt": "top\n"} {
		path = filepath.Join(r.dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b.bin", filepath.Join(r.dir, "src", "link")); err != nil {
		t.Fatal(err)
	}
	before := shape(t, r.dir)
	c := r.talk(harness.Options{Mode: "bypassPermissions"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	if _, last := r.say(c, "clean up"); last.Text != "gone" {
		t.Fatalf("%+v", last)
	}
	if shape(t, r.dir) == before {
		t.Fatal("the command did nothing")
	}
	plan, err := c.PlanRewind(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	undo, err := c.Rewind(t.Context(), plan, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := shape(t, r.dir); got != before {
		t.Errorf("after the rewind:\n%s\nwant:\n%s", got, before)
	}
	if undo == "" {
		t.Error("the rewind cannot be undone")
	}
}

// shape describes every file below a folder.
func shape(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		var content string
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			content, err = os.Readlink(path)
		case info.Mode().IsRegular():
			var raw []byte
			raw, err = os.ReadFile(path)
			content = string(raw)
		}
		fmt.Fprintf(&b, "%s %s %q\n", rel, info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// commit makes a folder a repository with everything in it committed.
func commit(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "first"}} {
		git := exec.Command("git", args...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
}
