//go:build linux

package command_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/command"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/session"
)

// mainVariable makes the test's program the command itself.
const mainVariable = "HAFT_FLEET_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		os.Exit(command.Main())
	}
	if file := os.Getenv(natsVariable); file != "" {
		serveNATS(file)
	}
	shellrun.Supervise()
	code := m.Run()
	os.RemoveAll(builtDir())
	os.Exit(code)
}

// A fleet is one server, or a cluster of three and the process that looks after it, with
// workers in processes of their own, and a model that lets each turn run one command with an
// effect.
type fleet struct {
	t            *testing.T
	dir, effects string
	url, model   string
	servers      []*node
	keeper       *exec.Cmd // serve --nats, for a cluster
	conn         *engine.Conn
	runs         *runs.Runs
	output       *os.File
	serveFlags   []string // besides those that every server has
	environ      []string // of processes, besides what each has
	// override answers in place of answer, if it wants to.
	override  func(*script.Request) (script.Turn, bool)
	scripting sync.Mutex // while it is set or read
}

// setOverride sets what answers.
func (f *fleet) setOverride(answer func(*script.Request) (script.Turn, bool)) {
	f.scripting.Lock()
	defer f.scripting.Unlock()
	f.override = answer
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := prepareFleet(t)
	f.startServer()
	f.connect()
	return f
}

// prepareFleet returns a fleet without servers.
func prepareFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{t: t, dir: t.TempDir()}
	f.effects = filepath.Join(f.dir, "effects")
	for _, name := range []string{"home", "project", "sessions", "store"} {
		if err := os.Mkdir(filepath.Join(f.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
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
	return f
}

func (f *fleet) connect() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	var err error
	f.conn, err = engine.Connect(ctx, f.url, &engine.ConnectOptions{Key: f.key("operator")})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(f.conn.Close)
	f.runs = runs.New(f.conn, "default")
}

// key is the file of the key of a role. In a cluster, and for a server that accepts the previous version, it is one
// without permissions in it.
func (f *fleet) key(role string) string {
	file := filepath.Join(f.dir, "store", role+".nk")
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join(f.dir, "store", role+".creds")
	}
	return file
}

// answer lets a prompt run a command of its own, which leaves a mark, and is content with any
// result.
func (f *fleet) answer(q *script.Request) script.Turn {
	f.scripting.Lock()
	override := f.override
	f.scripting.Unlock()
	if override != nil {
		if turn, ok := override(q); ok {
			return turn
		}
	}
	last := q.LastText()
	if !strings.Contains(last, "TURN") && !strings.Contains(last, "The worker that ran this turn was lost") {
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}
	}
	mark := "mark-" + rand.Text()
	// It takes some time, so that what is killed is often in the middle of it.
	input, _ := json.Marshal(map[string]string{"command": "sleep 0.03; echo " + mark + " >>" + f.effects + "; sleep 0.03"})
	return script.Turn{Blocks: []script.Block{{Text: "I run it."}, {Tool: "Bash", Input: input}}}
}

func (f *fleet) start(args ...string) *exec.Cmd { return f.startWith(mainVariable+"=1", args...) }

func (f *fleet) startWith(variable string, args ...string) *exec.Cmd {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	return f.startProgram(self, variable, args...)
}

func (f *fleet) startProgram(path, variable string, args ...string) *exec.Cmd {
	f.t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), variable, "ANTHROPIC_BASE_URL="+f.model, "ANTHROPIC_API_KEY=sk-ant-scripted", "HOME="+filepath.Join(f.dir, "home"),
		"CLAUDE_CONFIG_DIR=", "XDG_STATE_HOME=", "IS_SANDBOX=1")
	cmd.Env = append(cmd.Env, f.environ...)
	cmd.Stdout, cmd.Stderr = f.output, f.output
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return cmd
}

// lease is that of workers here: short, so that others take over soon.
const lease = 3 * time.Second

func (f *fleet) startWorker() *exec.Cmd {
	return f.start("worker", "--join", f.url, "--key", f.key("worker"), "--slots", "4", "--lease", lease.String(), "--attempts", "1000", "--dir", filepath.Join(f.dir, "sessions"))
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// submit begins a run of some turns and returns it with the names of its prompts.
func (f *fleet) submit(turns int) (id string, prompts []string) {
	f.t.Helper()
	id, prompts, err := f.begin(f.t.Context(), turns)
	if err != nil {
		f.t.Fatal(err)
	}
	return id, prompts
}

func (f *fleet) begin(ctx context.Context, turns int) (id string, prompts []string, err error) {
	for n := range turns {
		s := &runs.Submission{
			ID: id, Dir: filepath.Join(f.dir, "project"), Args: []string{"--permission-mode=bypassPermissions", "--model=sonnet"},
			Prompt: runs.Prompt{UUID: session.NewUUID(), Text: fmt.Sprintf("TURN %d", n)},
		}
		for {
			id, _, err = f.runs.Submit(ctx, s)
			if errors.Is(err, engine.ErrNoRoom) && engine.Pause(ctx, time.Second) == nil {
				continue // users try again
			}
			break
		}
		if err != nil {
			return "", nil, err
		}
		prompts = append(prompts, s.Prompt.UUID)
	}
	return id, prompts, nil
}

func TestAWorkerLeadsRuns(t *testing.T) {
	t.Parallel()
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

	archive := f.start("runs", "archive", id, "--to", filepath.Join(f.dir, "archive"), "--join", f.url, "--key", f.key("operator"))
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
