//go:build linux

package command_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/command"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/shellrun"
)

// mainVariable makes the test's program the command itself.
const mainVariable = "HAFT_FLEET_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		os.Exit(command.Main())
	}
	shellrun.Supervise()
	os.Exit(m.Run())
}

// A fleet is a server and workers in processes of their own, and a model that lets each turn
// run one command with an effect.
type fleet struct {
	t              *testing.T
	dir, effects   string
	address, model string
	server         *exec.Cmd
	conn           *engine.Conn
	runs           *runs.Runs
	output         *os.File
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, dir: t.TempDir(), address: l.Addr().String()}
	l.Close() // the server takes it, again and again
	f.effects = filepath.Join(f.dir, "effects")
	for _, name := range []string{"home", "project", "sessions"} {
		if err := os.Mkdir(filepath.Join(f.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if f.output, err = os.Create(filepath.Join(f.dir, "output")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.output.Close()
		if t.Failed() {
			raw, _ := os.ReadFile(f.output.Name())
			t.Logf("what the processes said:\n%s", raw[max(0, len(raw)-4000):])
		}
	})
	srv, err := script.Serve(&script.Options{Keep: -1, Answer: f.answer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	f.model = srv.URL()
	f.startServer()
	t.Cleanup(func() { kill(f.server) })
	f.conn, err = engine.Connect(t.Context(), "nats://"+f.address, &engine.ConnectOptions{Key: filepath.Join(f.dir, "store", "operator.nk")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.conn.Close)
	f.runs = runs.New(f.conn, "default")
	return f
}

// answer lets a prompt run a command of its own, which leaves a mark, and is content with any
// result.
func (f *fleet) answer(q *script.Request) script.Turn {
	last := q.LastText()
	if !strings.Contains(last, "TURN") && !strings.Contains(last, "The worker that ran this turn was lost") {
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}
	}
	mark := "mark-" + rand.Text()
	input, _ := json.Marshal(map[string]string{"command": "echo " + mark + " >>" + f.effects})
	return script.Turn{Blocks: []script.Block{{Text: "I run it."}, {Tool: "Bash", Input: input}}}
}

func (f *fleet) start(args ...string) *exec.Cmd {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1", "ANTHROPIC_BASE_URL="+f.model, "ANTHROPIC_API_KEY=sk-ant-scripted", "HOME="+filepath.Join(f.dir, "home"),
		"CLAUDE_CONFIG_DIR=", "XDG_STATE_HOME=", "IS_SANDBOX=1", "GOMAXPROCS=2")
	cmd.Stdout, cmd.Stderr = f.output, f.output
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return cmd
}

func (f *fleet) startServer() {
	f.t.Helper()
	f.server = f.start("serve", "--listen", f.address, "--store", filepath.Join(f.dir, "store"), "--status", "")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", f.address); err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			f.t.Fatal("the server does not start")
		}
	}
}

func (f *fleet) startWorker() *exec.Cmd {
	return f.start("worker", "--join", "nats://"+f.address, "--key", filepath.Join(f.dir, "store", "worker.nk"), "--slots", "4", "--lease", "3s", "--dir", filepath.Join(f.dir, "sessions"))
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// submit begins a run of some turns and returns it with the names of its prompts.
func (f *fleet) submit(turns int) (id string, prompts []string) {
	f.t.Helper()
	for n := range turns {
		next, prompt, err := f.runs.Submit(f.t.Context(), &runs.Submission{
			ID: id, Dir: filepath.Join(f.dir, "project"), Args: []string{"--permission-mode=bypassPermissions", "--model=sonnet"},
			Prompt: runs.Prompt{Text: fmt.Sprintf("TURN %d", n)},
		})
		if err != nil {
			f.t.Fatal(err)
		}
		id, prompts = next, append(prompts, prompt)
	}
	return id, prompts
}

// A tally is what the journals of runs and the effects of their commands add up to.
type tally struct {
	calls, unknown, effects int
}

// check reads the journal of a run, entry by entry, and returns which marks its calls made and
// how each is told to have ended.
func (f *fleet) check(id string, prompts []string, sum *tally, told map[string]string) {
	f.t.Helper()
	text, err := journal.New(f.conn, "default", nil).Text(f.t.Context(), id, "")
	if err != nil {
		f.t.Errorf("run %s: %v", id, err)
		return
	}
	said, results, uses, last := map[string]int{}, map[string]string{}, map[string]string{}, ""
	for raw := range bytes.Lines(text) {
		var l struct {
			UUID, Type string
			Parent     *string `json:"parentUuid"`
			Message    struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(raw, &l); err != nil {
			f.t.Errorf("run %s has the line %.80q", id, raw)
			continue
		}
		if l.UUID == "" || l.Type != "user" && l.Type != "assistant" {
			continue // an answer's end has no name
		}
		if said[l.UUID]++; l.Parent != nil && *l.Parent != last {
			f.t.Errorf("run %s: an entry follows %s and not %s", id, *l.Parent, last)
		}
		last = l.UUID
		var blocks []struct {
			Type, ID string
			UseID    string `json:"tool_use_id"`
			Input    struct{ Command string }
			Content  json.RawMessage
		}
		_ = json.Unmarshal(l.Message.Content, &blocks) // a prompt may be a text
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				uses[b.ID] = markOf(b.Input.Command)
			case "tool_result":
				if _, again := results[b.UseID]; again {
					f.t.Errorf("run %s: the call %s has two results", id, b.UseID)
				}
				results[b.UseID] = string(b.Content)
			}
		}
	}
	for uuid, n := range said {
		if n != 1 {
			f.t.Errorf("run %s: the entry %s is there %d times", id, uuid, n)
		}
	}
	for _, p := range prompts {
		if said[p] != 1 {
			f.t.Errorf("run %s: the prompt %s is there %d times", id, p, said[p])
		}
	}
	for use, mark := range uses {
		result, ok := results[use]
		if !ok {
			f.t.Errorf("run %s: the call %s has no result", id, use)
		}
		sum.calls++
		told[mark] = result
	}
}

func markOf(command string) string {
	_, mark, _ := strings.Cut(command, "mark-")
	mark, _, _ = strings.Cut(mark, " ")
	return mark
}

// checkEffects compares what commands did with what is told of them: a call that is told to
// have run has its effect once, one that is told not to have run has none, and of one whose
// outcome is unknown nobody knows.
func (f *fleet) checkEffects(sum *tally, told map[string]string) {
	f.t.Helper()
	raw, err := os.ReadFile(f.effects)
	if err != nil {
		f.t.Fatal(err)
	}
	done := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		done[strings.TrimSpace(strings.TrimPrefix(line, "mark-"))]++
		sum.effects++
	}
	for mark, n := range done {
		if _, ok := told[mark]; !ok || n != 1 {
			f.t.Errorf("the effect %s happened %d times; the journal has its call: %t", mark, n, ok)
		}
	}
	for mark, result := range told {
		switch {
		case strings.Contains(result, "outcome is unknown"):
			sum.unknown++
		case strings.Contains(result, "never ran"):
			if done[mark] != 0 {
				f.t.Errorf("the call %s is told not to have run, and did", mark)
			}
		case strings.Contains(result, "ancelled") || strings.Contains(result, "nterrupted"):
		case done[mark] != 1:
			f.t.Errorf("the call %s is told as %.80s, and has %d effects", mark, result, done[mark])
		}
	}
}

func TestAWorkerLeadsRuns(t *testing.T) {
	f := newFleet(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(2)
	for _, p := range prompts {
		out, err := f.runs.Await(t.Context(), id, p)
		if err != nil || out.IsError || out.Text != "done" {
			t.Fatalf("outcome %+v, %v", out, err)
		}
	}
	if _, _, err := f.runs.Submit(t.Context(), &runs.Submission{ID: id, Prompt: runs.Prompt{UUID: prompts[0], Text: "TURN again"}}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the run to rest", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Idle
	})
	var sum tally
	told := map[string]string{}
	f.check(id, prompts, &sum, told)
	f.checkEffects(&sum, told)
	if sum.calls != 2 || sum.effects != 2 {
		t.Errorf("two prompts, one of them sent twice, made %+v", sum)
	}

	archive := f.start("runs", "archive", id, "--to", filepath.Join(f.dir, "archive"), "--join", "nats://"+f.address, "--key", filepath.Join(f.dir, "store", "operator.nk"))
	if err := archive.Wait(); err != nil {
		t.Fatal(err)
	}
	run, err := f.runs.Get(t.Context(), id)
	if err != nil || run.State != runs.Archived {
		t.Fatalf("run %+v, %v", run, err)
	}
	sealed, err := os.ReadFile(run.Archive)
	if err != nil || bytes.Count(sealed, []byte("mark-")) < 2 {
		t.Errorf("the archive has %d bytes, %v", len(sealed), err)
	}
	if text, err := journal.New(f.conn, "default", nil).Text(t.Context(), id, ""); err != nil || len(text) > 0 {
		t.Errorf("the journal still has %d bytes, %v", len(text), err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
