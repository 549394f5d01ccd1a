//go:build linux

package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/servetest"
	"github.com/haftdev/haft/model/script"
)

// builtDir is where programs are built for tests; [TestMain] removes it.
func builtDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("haft-fleet-test-%d", os.Getpid()))
}

// haftProgram builds haft, the terminal of a fleet.
var haftProgram = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builtDir(), "haft")
	build := exec.Command("go", "build", "-o", path, "./cmd/haft")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// A front is the API of a fleet in a process of its own, and what talks to it.
type front struct {
	*fleet
	api   *exec.Cmd
	site  *servetest.Site
	start func()
}

// newFront starts a server, and the API beside it.
func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{fleet: newFleet(t)}
	settings := filepath.Join(f.dir, "home", ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"preview": "off"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	address, home := f.freeAddress(), filepath.Join(f.dir, "api")
	f.site = &servetest.Site{T: t, URL: "http://" + address, Dir: filepath.Join(f.dir, "project")}
	f.start = func() {
		f.api = f.fleet.start("api", "--join", f.url, "--key", f.key("operator"), "--listen", address, "--dir", home)
		waitFor(t, "the API to start", func() bool {
			var kept struct{ Token, URL string }
			raw, err := os.ReadFile(filepath.Join(home, "serve.json"))
			if err != nil || json.Unmarshal(raw, &kept) != nil || kept.URL == "" {
				return false
			}
			f.site.Token = kept.Token
			res, err := http.Get(f.site.URL + "/")
			if err == nil {
				res.Body.Close()
			}
			return err == nil
		})
	}
	f.start()
	t.Cleanup(func() { kill(f.api) })
	return f
}

// A terminal is a process of haft.
type terminal struct {
	*exec.Cmd
	in       io.WriteCloser
	mu       sync.Mutex
	out, err bytes.Buffer
}

// said is what it wrote to a stream.
func (c *terminal) said(b *bytes.Buffer) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return b.String()
}

// locked is a stream of a terminal.
type locked struct {
	c *terminal
	b *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.b.Write(p)
}

// haft starts haft with arguments.
func (f *front) haft(t *testing.T, args ...string) *terminal {
	t.Helper()
	path, err := haftProgram()
	if err != nil {
		t.Fatal(err)
	}
	c := &terminal{Cmd: exec.Command(path, args...)}
	c.Dir, c.Stdout, c.Stderr = filepath.Join(f.dir, "project"), locked{c, &c.out}, locked{c, &c.err}
	c.Env = append(os.Environ(), "HAFT_SERVE_TOKEN="+f.site.Token, "HOME="+filepath.Join(f.dir, "home"), "HAFT_HOME=", "CLAUDE_CONFIG_DIR=", "XDG_STATE_HOME=")
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		if t.Failed() {
			t.Logf("haft %q said:\n%s\n%s", args, c.said(&c.out), c.said(&c.err))
		}
	})
	return c
}

// end waits for a terminal and returns its exit code.
func (c *terminal) end(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// submitted starts haft -p --on with a prompt that has nothing on standard input.
func (f *front) submitted(t *testing.T, args ...string) *terminal {
	t.Helper()
	c := f.haft(t, append([]string{"-p", "--on", f.site.URL, "--allowedTools=Bash", "--add-dir=" + f.dir}, args...)...)
	c.in.Close()
	return c
}

// A prompt that was submitted with -p --on is answered whatever dies: the API server, the
// worker, the engine's server. Who follows it sees every entry once, and the answer.
func TestASubmittedPromptOutlivesEverything(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	asked, proceed := make(chan struct{}, 16), make(chan struct{})
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		asked <- struct{}{}
		<-proceed
		return script.Turn{}, false
	})
	w := f.startWorker()
	c := f.submitted(t, "--output-format=stream-json", "TURN once")
	<-asked
	kill(f.api)
	kill(w)
	f.servers[0].restart()
	f.start()
	close(proceed)
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	if code := c.end(t); code != 0 {
		t.Errorf("it ends with %d", code)
	}
	once := map[string]int{}
	results, id := 0, ""
	for line := range strings.Lines(c.said(&c.out)) {
		var m struct {
			Type, Subtype, UUID, Result string
			Session                     string `json:"session_id"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("it wrote %q: %v", line, err)
		}
		id = m.Session
		switch m.Type {
		case "user", "assistant":
			once[m.UUID]++
		case "result":
			if results++; m.Result != "done" {
				t.Errorf("the result is %s", line)
			}
		}
	}
	for uuid, n := range once {
		if n != 1 {
			t.Errorf("%s was shown %d times", uuid, n)
		}
	}
	if results != 1 || len(once) < 3 {
		t.Errorf("%d results, %d messages", results, len(once))
	}
	if n := f.effectCount(t); n != 1 {
		t.Errorf("the prompt had %d effects", n)
	}
	// Every message of the conversation that is not the prompt or the harness's was shown.
	feed := f.site.Feed("/v1/sessions/"+id+"/events", "")
	for shown := 0; shown < len(once); {
		e := feed.Until("a message", func(e servetest.Event) bool {
			return e.Name == "" && (strings.HasPrefix(e.Data, `{"type":"assistant"`) || strings.HasPrefix(e.Data, `{"type":"user"`))
		})
		var m struct {
			UUID        string
			IsSynthetic bool
			Message     struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal([]byte(e.Data), &m); err != nil {
			t.Fatal(err)
		}
		if m.IsSynthetic || strings.Contains(string(m.Message.Content), "TURN once") {
			continue
		}
		if shown++; once[m.UUID] != 1 {
			t.Errorf("the journal has %s, which was not shown", e.Data)
		}
	}
}

// The exit codes of docs/cli.md, by value.
func TestExitCodesOfASubmission(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	waiting := make(chan struct{}, 16)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		text := q.LastText()
		switch {
		case strings.Contains(text, "FAIL"):
			return script.Turn{Fault: script.Fault{Status: 400, Message: "the model refuses"}}, true
		case strings.Contains(text, "WAIT"):
			waiting <- struct{}{}
			return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: json.RawMessage(`{"command":"sleep 300"}`)}}}, true
		}
		return script.Turn{}, false
	})
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	latest := func() string {
		list, err := f.runs.List(t.Context())
		if err != nil || len(list) == 0 {
			t.Fatalf("%d runs, %v", len(list), err)
		}
		return list[0].ID
	}
	if c := f.submitted(t, "TURN"); c.end(t) != 0 || c.said(&c.out) != "done\n" {
		t.Errorf("an answer: code %d, %q", c.ProcessState.ExitCode(), c.said(&c.out))
	}
	if c := f.submitted(t, "FAIL"); c.end(t) != 1 || !strings.Contains(c.said(&c.err), "the model refuses") {
		t.Errorf("an error: code %d", c.ProcessState.ExitCode())
	}
	if c := f.submitted(t, "--debug-file=x", "TURN"); c.end(t) != 2 {
		t.Errorf("a refusal here: code %d", c.ProcessState.ExitCode())
	}
	if c := f.submitted(t, "--permission-mode=bypassPermissions", "TURN"); c.end(t) != 2 || !strings.Contains(c.said(&c.err), "could not submit the prompt to ") {
		t.Errorf("a refusal of the server: code %d", c.ProcessState.ExitCode())
	}
	c := f.submitted(t, "--output-format=json", "WAIT")
	<-waiting
	if err := f.runs.Cancel(t.Context(), latest()); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 130 || !strings.Contains(c.said(&c.out), `"terminal_reason":"cancelled"`) {
		t.Errorf("cancelled: code %d", code)
	}
	c = f.submitted(t, "WAIT")
	<-waiting
	kill(w)
	if _, err := f.runs.Update(t.Context(), latest(), func(r *runs.Run) error {
		r.State, r.Owner, r.Reason = runs.Quarantined, "", "the test put it aside"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 4 || !strings.Contains(c.said(&c.err), "the test put it aside") {
		t.Errorf("quarantined: code %d", code)
	}
}

// A question is asked on the page and in a terminal. The first answer counts, the command
// runs once, and the other side is shown who answered.
func TestTwoFrontsAnswerOneQuestion(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	for _, first := range []string{"page", "terminal", "both"} {
		before := f.effectCount(t)
		var row serve.Session
		f.site.Must("POST", "/v1/sessions", serve.NewSession{Cwd: f.site.Dir, Prompt: "TURN " + first, Model: "sonnet", Args: []string{"--add-dir=" + f.dir}}, &row)
		path := "/v1/sessions/" + row.ID
		feed := f.site.Feed(path+"/events", "")
		q := feed.Questions(1)[0]
		c := f.haft(t, "attach", f.site.URL+"/s/"+row.ID)
		waitFor(t, "the question in the terminal", func() bool { return strings.Contains(c.said(&c.out), "Run this command?") })
		answer := func() (int, []byte) {
			return f.site.Do("POST", path+"/answers", serve.Answer{Question: q.ID, Digest: q.Digest, Answer: servetest.Allow()})
		}
		switch first {
		case "page":
			if code, raw := answer(); code != http.StatusNoContent {
				t.Fatalf("the page's answer: %d %s", code, raw)
			}
			waitFor(t, "the terminal to see who answered", func() bool { return strings.Contains(c.said(&c.out), "allow by a program that uses haft serve") })
		case "terminal":
			typed := 0
			waitFor(t, "the command to run", func() bool {
				// What is typed as the question comes is not an answer: it is asked again.
				if strings.Count(c.said(&c.out), "y: allow once") > typed {
					fmt.Fprintln(c.in, "y")
					typed++
				}
				return f.effectCount(t) > before
			})
			feed.Message("result", "done")
			if code, raw := answer(); code != http.StatusConflict || !strings.Contains(string(raw), `"by":"`) {
				t.Errorf("the page's answer after the terminal's: %d %s", code, raw)
			}
		case "both":
			fmt.Fprintln(c.in, "y")
			if code, raw := answer(); code != http.StatusNoContent && code != http.StatusConflict {
				t.Errorf("the page's answer beside the terminal's: %d %s", code, raw)
			}
		}
		waitFor(t, "the terminal to see the answer of the model", func() bool { return strings.Contains(c.said(&c.out), "\ndone\n") })
		if got := f.effectCount(t); got != before+1 {
			t.Errorf("%s first: %d effects became %d", first, before, got)
		}
		c.in.Close()
		kill(c.Cmd)
	}
}

// A worker that is killed under an open stream of events leaves no gap in it and nothing twice:
// the stream continues with the next worker.
func TestAStreamOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	w := f.startWorker()
	id, prompts := f.submit(3)
	feed := f.site.Feed("/v1/sessions/"+id+"/events", "")
	ids := func(feed *servetest.Feed, until func(servetest.Event) bool) (list []string) {
		feed.Until("the end", func(e servetest.Event) bool {
			if e.ID != "" {
				list = append(list, e.ID)
			}
			return until(e)
		})
		return list
	}
	seen := ids(feed, func(e servetest.Event) bool { return strings.Contains(e.Data, `"step":"dispatched"`) })
	kill(w)
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	f.mustEnd(t, id, prompts)
	var view serve.Timeline
	f.site.Must("GET", "/v1/sessions/"+id+"/timeline", nil, &view)
	last := ""
	all := ids(f.site.Feed("/v1/sessions/"+id+"/events", ""), func(e servetest.Event) bool {
		if e.ID != "" {
			last = e.ID
		}
		return e.Name == "questions" // they come after what the journal has
	})
	if last != seen[len(seen)-1] {
		seen = append(seen, ids(feed, func(e servetest.Event) bool { return e.ID == last })...)
	}
	if !slices.Equal(seen, all) {
		t.Errorf("the stream had %q, the journal has %q", seen, all)
	}
}

// A program has its conversation on a fleet through 'haft connect', as through haft itself. If
// its worker is lost, it ends with an error and can resume.
func TestAProgramConnects(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	w := f.startWorker()
	const id = "3f9a1c00-0000-4000-8000-00000000000d"
	begin := func(flag string) *terminal {
		return f.haft(t, "connect", f.site.URL, "--", "--input-format=stream-json", "--output-format=stream-json", "--verbose", "--allowedTools=Bash", "--add-dir="+f.dir, flag)
	}
	say := func(c *terminal, text string) {
		fmt.Fprintf(c.in, `{"type":"user","session_id":"","parent_tool_use_id":null,"message":{"role":"user","content":%q}}`+"\n", text)
	}
	results := func(c *terminal) int { return strings.Count(c.said(&c.out), `{"type":"result"`) }
	c := begin("--session-id=" + id)
	for n := range 2 {
		say(c, fmt.Sprintf("TURN %d", n))
		waitFor(t, "a result", func() bool { return results(c) == n+1 })
	}
	c.in.Close()
	if code := c.end(t); code != 0 || f.effectCount(t) != 2 || !strings.Contains(c.said(&c.out), id) {
		t.Errorf("code %d, %d effects", code, f.effectCount(t))
	}
	c = begin("--resume=" + id)
	asked := make(chan struct{}, 16)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		asked <- struct{}{}
		return script.Turn{}, false
	})
	say(c, "TURN 2")
	<-asked
	kill(w)
	if code := c.end(t); code != 1 || !strings.Contains(c.said(&c.err), "Resume the session to continue") {
		t.Errorf("a lost worker: code %d", code)
	}
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	c = begin("--resume=" + id)
	say(c, "hello")
	waitFor(t, "a result", func() bool { return results(c) == 1 })
	c.in.Close()
	if code := c.end(t); code != 0 {
		t.Errorf("resumed: code %d", code)
	}
}

// A run is one session: /clear is refused with what to do instead, and the run continues. Files
// are not rewound, and a run that was archived says where it is.
func TestWhatAFleetRefuses(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	id, prompts := f.submit(1)
	f.mustEnd(t, id, prompts)
	_, prompt, err := f.runs.Submit(t.Context(), &runs.Submission{ID: id, Prompt: runs.Prompt{Text: "/clear"}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := f.runs.Await(t.Context(), id, prompt); err != nil || !out.IsError || !strings.Contains(out.Text, "start a new session instead") {
		t.Errorf("/clear: %+v, %v", out, err)
	}
	_, prompt, err = f.runs.Submit(t.Context(), &runs.Submission{ID: id, Prompt: runs.Prompt{Text: "TURN after it"}})
	if err != nil {
		t.Fatal(err)
	}
	f.mustEnd(t, id, []string{prompt})
	path := "/v1/sessions/" + id
	var now serve.Session
	if f.site.Must("GET", path, nil, &now); now.Turns < 2 {
		t.Errorf("after /clear the session is %+v", now)
	}
	if p := f.site.Refused("POST", path+"/rewind", serve.Rewind{To: prompt}, http.StatusConflict); p.Code != "not_here" || !strings.Contains(p.Message, "Fork the session") {
		t.Errorf("rewind: %+v", p)
	}
	archive := f.fleet.start("runs", "archive", id, "--to", filepath.Join(f.dir, "archive"), "--join", f.url, "--key", f.key("operator"))
	if err := archive.Wait(); err != nil {
		t.Fatal(err)
	}
	run, err := f.runs.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the API to know that the run was archived", func() bool {
		code, raw := f.site.Do("GET", path, nil)
		return code == http.StatusGone && strings.Contains(string(raw), run.Archive)
	})
	f.fleet.start("runs", "ls", "--state", "archived", "--join", f.url, "--key", f.key("operator"))
	waitFor(t, "the archived run in the list", func() bool {
		raw, err := os.ReadFile(f.output.Name())
		return err == nil && strings.Contains(string(raw), id+"  archived") && strings.Contains(string(raw), run.Archive)
	})
}

// What a program starts its conversation with is not kept in the engine: there may be secrets
// in it.
func TestFlagsOfAProgramAreNotKept(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	const secret = "a-secret-of-the-program"
	c := f.haft(t, "connect", f.site.URL, "--", "--input-format=stream-json", "--output-format=stream-json", "--append-system-prompt="+secret)
	told := make(chan bool, 16)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		told <- strings.Contains(string(q.Body), secret)
		return script.Turn{Blocks: []script.Block{{Text: "done"}}}, true
	})
	fmt.Fprintln(c.in, `{"type":"user","session_id":"","parent_tool_use_id":null,"message":{"role":"user","content":"hello"}}`)
	if !<-told {
		t.Error("the flag has not reached the model")
	}
	waitFor(t, "a result", func() bool { return strings.Contains(c.said(&c.out), `{"type":"result"`) })
	c.in.Close()
	if code := c.end(t); code != 0 {
		t.Errorf("code %d", code)
	}
	blocks, err := filepath.Glob(filepath.Join(f.dir, "store", "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("the store has %d blocks, %v", len(blocks), err)
	}
	for _, block := range blocks {
		if strings.HasPrefix(filepath.Base(filepath.Dir(filepath.Dir(block))), "J") {
			continue // the journal, where the conversation is
		}
		raw, err := os.ReadFile(block)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("%s has the flag", block)
		}
	}
}

// Nobody waits for ever for users who do not come: with --on-ask fail, a question of the prompt's
// own turn is denied, and a prompt that waits behind the question of another one is cancelled.
// Both end with the exit code of docs/cli.md.
func TestNobodyWaitsForUsersWhoDoNotCome(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	attended := func(prompt string) string {
		var row serve.Session
		f.site.Must("POST", "/v1/sessions", serve.NewSession{Cwd: f.site.Dir, Prompt: prompt, Model: "sonnet", Args: []string{"--add-dir=" + f.dir}}, &row)
		return row.ID
	}
	resume := func(id string, args ...string) *terminal {
		c := f.haft(t, append([]string{"-p", "--on", f.site.URL, "--resume", id}, args...)...)
		c.in.Close()
		return c
	}
	id := attended("hello")
	waitFor(t, "the first answer", func() bool {
		run, err := f.runs.Get(t.Context(), id)
		return err == nil && run.State == runs.Idle
	})
	for _, how := range []struct {
		flag string
		code int
	}{{"--on-ask=fail", 3}, {"--on-ask=deny", 0}} {
		c := resume(id, how.flag, "TURN denied")
		if code := c.end(t); code != how.code || f.effectCount(t) != 0 || !strings.Contains(c.said(&c.err), "denied because of --on-ask: ") {
			t.Errorf("%s: code %d, %d effects", how.flag, code, f.effectCount(t))
		}
	}

	// Without the flag, the question is left to those who watch the session.
	c := resume(id, "TURN asked")
	q := f.question(t, id)
	waitFor(t, "how to answer", func() bool {
		return strings.Contains(c.said(&c.err), "Answer it with: haft attach "+f.site.URL+"/s/"+id)
	})

	// What waits behind it is cancelled, and the question stays open.
	behind := resume(id, "--on-ask=fail", "TURN behind")
	if code := behind.end(t); code != 3 || !strings.Contains(behind.said(&behind.err), "The prompt is waiting behind another prompt's open question") {
		t.Errorf("behind a question: code %d", code)
	}
	if err := f.runs.Answer(t.Context(), q.ID, runs.Answer{Allow: true, By: "user"}); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 0 || f.effectCount(t) != 1 {
		t.Errorf("answered: code %d, %d effects", code, f.effectCount(t))
	}
}

// Ctrl-C twice cancels the prompt of this terminal: whether no worker has taken it, it waits
// behind the turn of another prompt, its turn runs, or it runs again because its worker was lost.
// Prompts of others are left alone.
func TestAPromptOfAFleetIsCancelledByName(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	waiting := make(chan struct{}, 16)
	f.setOverride(func(q *script.Request) (script.Turn, bool) {
		text := q.LastText()
		if strings.Contains(text, "WAIT") || strings.Contains(text, "The worker that ran this turn was lost") {
			waiting <- struct{}{}
			return script.Turn{Blocks: []script.Block{{Tool: "Bash", Input: json.RawMessage(`{"command":"sleep 300"}`)}}}, true
		}
		return script.Turn{}, false
	})
	const id = "3f9a1c00-0000-4000-8000-00000000000e"
	interrupt := func(c *terminal, end string) {
		t.Helper()
		for _, sign := range []string{"Press Ctrl-C again", end} {
			if err := c.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the terminal to say: "+sign, func() bool { return strings.Contains(c.said(&c.err), sign) })
		}
		if code := c.end(t); code != 130 {
			t.Errorf("cancelled: code %d", code)
		}
	}
	submitted := func(n int) func() bool {
		return func() bool {
			list, err := f.runs.Pending(t.Context(), id)
			return err == nil && len(list) == n
		}
	}

	c := f.submitted(t, "--session-id="+id, "TURN without a worker")
	waitFor(t, "the prompt", submitted(1))
	interrupt(c, "haft: The prompt was cancelled.")
	if run, err := f.runs.Get(t.Context(), id); err != nil || run.State != runs.Idle {
		t.Errorf("a run without prompts is %+v, %v", run, err)
	}

	w := f.startWorker()
	resume := func(text string) *terminal {
		c := f.haft(t, "-p", "--on", f.site.URL, "--resume", id, text)
		c.in.Close()
		return c
	}
	first := resume("WAIT for the first")
	<-waiting
	second := resume("TURN behind it")
	waitFor(t, "the second prompt", submitted(2))
	interrupt(second, "haft: The prompt was cancelled.")
	if !submitted(1)() {
		t.Error("the first prompt was cancelled, too")
	}
	kill(w)
	w = f.startWorker()
	t.Cleanup(func() { kill(w) })
	<-waiting
	interrupt(first, "haft: the user interrupted the turn")
	if n := f.effectCount(t); n != 0 {
		t.Errorf("prompts that were cancelled had %d effects", n)
	}
	if c := resume("TURN after all"); c.end(t) != 0 || f.effectCount(t) != 1 {
		t.Errorf("the session continues with code %d, %d effects", c.ProcessState.ExitCode(), f.effectCount(t))
	}
}
