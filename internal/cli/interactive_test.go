//go:build linux || darwin

package cli_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// haftBinary builds the command once.
var haftBinary = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(scratch, "haft")
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, "../../cmd/haft").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return exe, nil
})

// A seat is a user in front of haft: a real process on a real pseudo-terminal,
// whose output an emulated terminal shows, and a scripted model at the other end.
type seat struct {
	t         *testing.T
	dir, home string
	url       string
	bare      bool            // nothing says which model answers
	plain     bool            // line by line
	changed   func(*exec.Cmd) // what a test changes about how haft is started
	env       []string
	rows      uint16 // of the terminal; 0 means 30
	columns   uint16 // 0 means 90
	cmd       *exec.Cmd
	tty       *os.File

	mu   sync.Mutex
	term *vt.Emulator
}

func newSeat(t *testing.T, turns ...script.Turn) *seat {
	t.Helper()
	if _, err := haftBinary(); err != nil { // before anything changes what go build needs
		t.Fatal(err)
	}
	s := &seat{t: t, dir: t.TempDir(), home: t.TempDir()}
	s.play(turns...)
	return s
}

// play has the model say something.
func (s *seat) play(turns ...script.Turn) {
	s.t.Helper()
	server, err := scripttest.Serve(s.t, &script.Options{Scenario: &script.Scenario{Turns: turns}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { server.Close() })
	s.url = server.URL()
}

// command is haft in front of the scripted model.
func (s *seat) command(args ...string) *exec.Cmd {
	s.t.Helper()
	exe, err := haftBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = s.dir
	cmd.Env = bareEnv(s.home, "TERM=xterm-256color")
	if !s.bare {
		cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+s.url, "ANTHROPIC_API_KEY=scripted", "EDITOR=sed -i s/teh/the/")
	}
	cmd.Env = append(cmd.Env, s.env...)
	if s.changed != nil {
		s.changed(cmd)
	}
	return cmd
}

// launch runs haft on a terminal.
func (s *seat) launch(args ...string) {
	s.t.Helper()
	size := &pty.Winsize{Rows: cmp.Or(s.rows, 30), Cols: cmp.Or(s.columns, 90)}
	s.term, s.cmd = vt.NewEmulator(int(size.Cols), int(size.Rows)), s.command(args...)
	var err error
	if s.tty, err = pty.StartWithSize(s.cmd, size); err != nil {
		s.t.Fatal(err)
	}
	var readers sync.WaitGroup
	readers.Add(1)
	go func(tty *os.File, term *vt.Emulator) {
		defer readers.Done()
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			s.mu.Lock()
			term.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}(s.tty, s.term)
	go io.Copy(s.tty, s.term) // what a terminal answers when it is asked; it ends with the test
	s.t.Cleanup(func() {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		s.tty.Close()
		readers.Wait()
	})
}

// start runs haft on a terminal, and waits until it can be used.
func (s *seat) start(args ...string) {
	s.t.Helper()
	s.launch(args...)
	switch {
	case len(args) > 0 && args[0] == "trust":
		return
	case s.plain:
		s.see("Type what you want done")
		return
	case s.bare:
		s.see("Which model should answer?")
		return
	case len(args) > 0 && args[0] == "--resume":
		return
	default:
		s.see("asks first · ", "edits allowed · ") // the conversation is open
	}
	s.see("what should haft do?")
}

// screen is what the user sees, and what they can scroll back to.
func (s *seat) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for y := range s.term.ScrollbackLen() {
		for x := range s.term.Width() {
			if c := s.term.ScrollbackCellAt(x, y); c != nil {
				b.WriteString(c.Content)
			}
		}
		b.WriteByte('\n')
	}
	b.WriteString(s.term.String())
	return b.String()
}

// see waits for one of the texts to be on the screen, or in the scrollback.
func (s *seat) see(texts ...string) {
	s.t.Helper()
	s.until("see "+strings.Join(texts, " or "), func() bool {
		s.mu.Lock()
		now := s.term.String()
		s.mu.Unlock()
		for _, text := range texts {
			if strings.Contains(now, text) || strings.Contains(s.screen(), text) {
				return true
			}
		}
		return false
	})
}

func (s *seat) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	s.t.Fatalf("did not %s; the screen is\n%s", what, s.screen())
}

func (s *seat) type_(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// turnTo waits until the question can be turned to, and turns to it. It must be
// armed, which takes a while without keys.
func (s *seat) turnTo() {
	s.t.Helper()
	s.see("tab: go to this question")
	time.Sleep(400 * time.Millisecond)
	s.type_("\t")
	s.see("esc: back to the input box")
	time.Sleep(200 * time.Millisecond)
}

// choose selects an answer by its number, and confirms it once it has been highlighted for a moment.
func (s *seat) choose(number string) {
	s.t.Helper()
	s.type_(number)
	s.see("▸ " + number)
	time.Sleep(200 * time.Millisecond)
	s.type_("\r")
}

// leave ends haft and checks that it goes by itself.
func (s *seat) leave() {
	s.t.Helper()
	s.type_("\x03\x03")
	gone := make(chan error, 1)
	go func() { gone <- s.cmd.Wait() }()
	select {
	case err := <-gone:
		if err != nil {
			s.t.Errorf("haft ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		s.t.Errorf("haft does not leave; the screen is\n%s", s.screen())
	}
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func calls(tool string, input any) script.Turn {
	raw, _ := json.Marshal(input)
	return script.Turn{Blocks: []script.Block{{Tool: tool, Input: raw}}}
}

type in = map[string]any

func TestAPersonTalksToAModel(t *testing.T) {
	s := newSeat(t, says("Hello **you**, here is\n\n```go\nfunc main() {}\n```\n"), says("Second answer."))
	s.start()
	s.type_("say hello\r")
	s.see("› say hello")
	s.see("Hello you, here is")
	s.see("func main() {}")
	s.type_("and again teh\x07") // ctrl+g: the editor fixes it
	s.see("again the")
	s.type_("\r")
	s.see("Second answer.")
	s.leave()
}

func TestAPersonAllowsAndDenies(t *testing.T) {
	s := newSeat(t, calls("Bash", in{"command": "touch one"}), says("Made it."), calls("Bash", in{"command": "touch two"}), says("Then not."))
	s.start()
	s.type_("make one\r")
	s.see("touch one")
	s.turnTo()
	s.type_("y") // allow once
	s.see("Made it.")
	if _, err := os.Stat(filepath.Join(s.dir, "one")); err != nil {
		t.Error(err)
	}
	s.type_("make two\r")
	s.see("touch two")
	s.turnTo()
	s.type_("e")
	s.see("what instead?")
	s.type_("use three\r")
	s.see("Then not.")
	if _, err := os.Stat(filepath.Join(s.dir, "two")); err == nil {
		t.Error("what was denied was done")
	}
	s.leave()
}

func TestAPersonLeavesAQuestion(t *testing.T) {
	s := newSeat(t, calls("Bash", in{"command": "touch one"}), says("Made it."))
	s.start()
	s.type_("make one\r")
	s.see("tab: go to this question")
	s.leave()
	if _, err := os.Stat(filepath.Join(s.dir, "one")); err == nil {
		t.Error("what nobody allowed was done")
	}
}

func TestAPersonInterrupts(t *testing.T) {
	slow := says(strings.Repeat("word and word\n\n", 400))
	slow.Delta, slow.Chunk = 20, 10
	s := newSeat(t, slow, says("Good, then not."))
	s.start()
	s.type_("talk\r")
	s.see("word and word")
	s.type_("\x1b")
	s.see("Interrupted. What should haft do instead?")
	s.type_("stop it\r")
	s.see("Good, then not.")
	s.leave()
}

func TestAPersonResizesWhileItStreams(t *testing.T) {
	slow := says("begin\n\n" + strings.Repeat("some words in a row ", 60) + "\n\nthe end")
	slow.Delta, slow.Chunk = 10, 20
	s := newSeat(t, slow)
	s.start()
	s.type_("talk\r")
	s.see("some words")
	for _, cols := range []int{60, 110, 40, 90} {
		s.mu.Lock()
		s.term.Resize(cols, 30)
		s.mu.Unlock()
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 30, Cols: uint16(cols)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // a user needs longer
	}
	s.see("the end")
	s.see("what should haft do?")
	s.leave()
}

func TestAPersonResumesAndGoesBack(t *testing.T) {
	s := newSeat(t)
	file := filepath.Join(s.dir, "f.txt")
	s.play(says("Hello."), calls("Write", in{"file_path": file, "content": "new\n"}), says("Written."), says("After that."))
	s.start("--permission-mode", "acceptEdits")
	s.type_("greet me\r")
	s.see("Hello.")
	s.type_("write it\r")
	s.see("Written.")
	s.leave()

	s.start("--continue", "--permission-mode", "acceptEdits")
	s.see("end of the earlier conversation")
	s.see("● Write f.txt") // as it went
	s.see("› write it")
	s.type_("\x1b")
	s.see("esc again goes back")
	s.type_("\x1b")
	s.see("Rewind to just before which message?")
	s.type_("\r")
	s.see("What should be rewound?")
	s.see("f.txt")
	s.type_("\r")
	s.until("bring the file back", func() bool { _, err := os.Stat(file); return os.IsNotExist(err) })
	s.see("Restored 1 file")
	s.type_("\x03") // what was said is there to be changed
	s.leave()

	s.start("--continue") // it stays gone back, although nothing was said since
	s.see("Hello.")
	s.see("asks first · ")
	if now := s.screen(); strings.Contains(now, "write it") {
		t.Errorf("what was left behind is back:\n%s", now)
	}
	s.leave()
}

// TestAPersonGoesBackInAConversationThatIsNew goes back twice: to a message that was
// sent while the model worked, and from what was said instead of it.
func TestAPersonGoesBackInAConversationThatIsNew(t *testing.T) {
	s := newSeat(t, calls("Bash", in{"command": "sleep 1; echo slept"}), says("An answer."))
	s.start("--allowedTools", "Bash")
	s.type_("sleep\r")
	s.see("Bash sleep 1")
	s.type_("and hurry\r")
	s.see("An answer.")
	back := func() {
		s.type_("\x1b")
		s.see("esc again goes back")
		s.type_("\x1b")
		s.see("Rewind to just before which message?")
	}
	back()
	s.see("▸ and hurry")
	s.type_("\r")
	s.see("— back to before: and hurry —")
	s.see("continues —")
	s.see("asks first · ")
	s.type_("\x15something else\r")
	s.until("hear another answer", func() bool { return strings.Count(s.screen(), "An answer.") == 2 })
	back()
	s.see("▸ something else")
	s.mu.Lock()
	now := s.term.String()
	s.mu.Unlock()
	if list := now[strings.LastIndex(now, "Rewind to just before"):]; strings.Contains(list, "hurry") || !strings.Contains(list, "sleep") {
		t.Errorf("what was left behind is offered:\n%s", list)
	}
	s.type_("\x03") // closes the list
	s.until("close the list", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !strings.Contains(s.term.String(), "Go back to")
	})
	s.leave()
	s.see("To continue: haft --resume")
}

func TestTheFirstStart(t *testing.T) {
	s := newSeat(t, says("ready"))
	s.bare = true
	s.start()
	s.see("Which model should answer?")
	s.type_("2\r")
	s.see("Address")
	s.type_(s.url + "/v1\r") // in place of the one that stands there
	s.type_("scripted\r\r")
	s.see("The model answered: scripted says ready")
	s.see("asks first · ")
	raw, err := os.ReadFile(filepath.Join(s.home, ".haft", "credentials.json"))
	if err != nil || !strings.Contains(string(raw), s.url) {
		t.Errorf("kept %s, %v", raw, err)
	}
	s.leave()
}

// TestALongGuideIsPaged shows a guide that is longer than the terminal in the user's pager.
func TestALongGuideIsPaged(t *testing.T) {
	for _, c := range []struct {
		pager string
		paged bool
	}{{"PAGER=sed s/^/paged:/", true}, {"PAGER=cat", false}, {"PAGER=", false}, {"PAGER=no-such-pager", false}} {
		cmd := newSeat(t).command("help", "permissions")
		cmd.Env = append(cmd.Env, c.pager)
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 90})
		if err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(tty) // a terminal that is gone ends it with an error on Linux
		tty.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", c.pager, err)
		}
		if got := strings.Contains(string(out), "paged:"); got != c.paged || !strings.Contains(string(out), "acceptEdits") {
			t.Errorf("%s: paged %v, want %v:\n%s", c.pager, got, c.paged, out)
		}
	}
}

func TestWithoutATerminalThereIsHelp(t *testing.T) {
	exe, err := haftBinary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Available Commands") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestACommandOfOnesOwnIsStopped runs commands with ! and stops them as the screen says.
func TestACommandOfOnesOwnIsStopped(t *testing.T) {
	for _, key := range []string{"\x1b", "\x03"} {
		s := newSeat(t)
		s.start()
		s.type_("!echo $$ > pid; sleep 1000; echo printed later\r")
		var pid int
		s.until("start the command", func() bool {
			raw, _ := os.ReadFile(filepath.Join(s.dir, "pid"))
			n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			pid = n
			return err == nil
		})
		s.type_(key)
		s.see("stopped")
		s.until("end the process", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			return err != nil
		})
		s.see("what should haft do?")
		if strings.Contains(strings.ReplaceAll(s.screen(), "echo printed later", ""), "printed later") {
			t.Error("the command went on")
		}
		s.leave()
	}
}

// TestAPersonIsNeverStuck looks around without a model, and continues from there.
func TestAPersonIsNeverStuck(t *testing.T) {
	s := newSeat(t, says("Hello."), says("Hello again."))
	s.bare = true
	s.start()
	s.type_("\x1b") // not now
	s.see("/login")
	s.type_("/help\r")
	s.see("q closes")
	s.type_("q")
	s.type_("say hello\r")
	s.see("No model is set up yet")
	s.type_("/login\r")
	s.until("be asked again", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Contains(s.term.String(), "Which model should answer?")
	})
	s.type_("2\r")
	s.see("Address")
	s.type_(s.url + "/v1\r")
	s.type_("scripted\r\r")
	s.see("The model answered")
	s.see("› say hello") // which was kept

	s = newSeat(t, says("Hello."))
	s.start("--resume", "00000000-0000-4000-8000-000000000000")
	s.see("/new")
	s.type_("/new\r")
	s.see("asks first · ")
	s.type_("say hello\r")
	s.see("Hello.")
	s.leave()
}

// TestAWorktreeOfItsOwn edits in a worktree, which the folder does not see.
func TestAWorktreeOfItsOwn(t *testing.T) {
	s := newSeat(t)
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "--allow-empty", "-m", "begin"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for range 2 { // the second time in the same one
		s.play(calls("Bash", in{"command": "pwd; touch made"}), says("Done."))
		cmd := s.command("-p", "make it", "--worktree", "mine", "--allowedTools", "Bash(touch:*)", "--output-format", "stream-json", "--verbose")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "haft: working in ") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err == nil {
		t.Error("it worked in the folder itself")
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".worktrees", "mine", "made")); err != nil {
		t.Error(err)
	}
}

// TestWithoutATerminalAPromptIsAnswered calls haft as a script would that forgot -p.
func TestWithoutATerminalAPromptIsAnswered(t *testing.T) {
	for _, c := range []struct {
		args  []string
		input string
		want  string
		code  int
	}{
		{nil, "say hi", "Hello.", 0},
		{[]string{"say hi"}, "", "Hello.", 0},
		{[]string{"say", "hi"}, "", "Hello.", 0},
		{[]string{"--continue"}, "", "no prompt given", 2},
		{[]string{"sesions"}, "", "sessions", 2},
	} {
		s := newSeat(t, says("Hello."))
		cmd := s.command(c.args...)
		if c.input != "" {
			cmd.Stdin = strings.NewReader(c.input)
		}
		out, _ := cmd.CombinedOutput() // the code says how it went
		if !strings.Contains(string(out), c.want) || cmd.ProcessState.ExitCode() != c.code {
			t.Errorf("haft %q < %q ended with %d, want %d and %q:\n%s", c.args, c.input, cmd.ProcessState.ExitCode(), c.code, c.want, out)
		}
		if said := strings.Contains(string(out), "there is no terminal"); said != (c.want != "sessions") {
			t.Errorf("haft %q: %s", c.args, out)
		}
	}
}

func TestAPersonTalksLineByLine(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "two") // where no rewind restores it
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSeat(t, calls("Bash", in{"command": "touch one"}), says("Made it."), calls("Bash", in{"command": "rm " + outside}), says("Not removed."))
	s.plain = true
	s.start("--plain", "--preview", "off")
	s.type_("make one\r")
	s.see("Run this command?")
	time.Sleep(400 * time.Millisecond) // what comes at once is no answer
	s.type_("y\r")
	s.see("Made it.")
	s.type_("remove it\r")
	s.see("Bash rm ")
	time.Sleep(400 * time.Millisecond)
	s.type_("y\r")
	s.see("Type allow to continue")
	time.Sleep(400 * time.Millisecond)
	s.type_("y\r")
	s.see("Not removed.")
	for _, path := range []string{filepath.Join(s.dir, "one"), outside} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	s.type_("/cost\r")
	s.see("This session has cost")
	s.type_("/exit\r")
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestBrokenSettingsAreNamed types a prompt while a settings file cannot be used: it waits,
// the file is named, and it is sent when the file is fixed.
func TestBrokenSettingsAreNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{\"permissions\":{\"deny\":[\"Bash\"],\n \"allow\" []}}", "settings.json:2:"},
		{`{"permissions":{"deny":["Bash(rm:*"]}}`, "the closing parenthesis is"},
	} {
		s := newSeat(t, says("Hello."))
		file := filepath.Join(s.dir, ".claude", "settings.json")
		write := func(text string) {
			t.Helper()
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(c.text)
		s.launch()
		s.see("/new starts a conversation")
		s.type_("say hello\r")
		s.see("Your prompt is kept until that works.")
		if strings.Count(s.screen(), c.want) != 2 || strings.Contains(s.screen(), "No model is set up") {
			t.Errorf("the file is not named, at first and for the prompt:\n%s", s.screen())
		}
		write("{}")
		s.type_("/new\r")
		s.see("Hello.")
		s.leave()
	}
}

// TestTrustWhileATurnRuns trusts the folder while a command runs: it runs to its end, and
// the hook of the folder runs from the next turn on.
func TestTrustWhileATurnRuns(t *testing.T) {
	s := newSeat(t, calls("Bash", map[string]any{"command": "sh slow.sh"}), says("The command is done."), says("Hello again."))
	if err := os.MkdirAll(filepath.Join(s.dir, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	settings := `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch hooked"}]}]}}`
	if err := os.WriteFile(filepath.Join(s.dir, ".claude", "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	slow := "touch began; while [ ! -e go ]; do sleep 0.02; done; echo all of it"
	if err := os.WriteFile(filepath.Join(s.dir, "slow.sh"), []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	s.launch("--allowedTools", "Bash(sh slow.sh)", "--preview", "off")
	s.see("This folder contains 1 item")
	s.type_("do it\r")
	s.see("enter again: send this as a message")
	time.Sleep(400 * time.Millisecond)
	s.type_("\r")
	there := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(s.dir, name)); return err == nil }
	}
	s.until("run the command", there("began"))
	s.turnTo()
	s.choose("2")
	s.see("Trusted. It takes effect when the running turn")
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.see("The command is done.")
	s.see("The new settings are in use now.")
	if there("hooked")() {
		t.Error("the hook ran before it was trusted")
	}
	s.type_("hello\r")
	s.see("Hello again.")
	s.until("run the hook", there("hooked"))
	s.leave()
}

// TestAWarningFollowsWhatARewindCovers deletes two files: the question says that a rewind
// restores the one, which it then does, and warns about the other.
func TestAWarningFollowsWhatARewindCovers(t *testing.T) {
	for _, preview := range []string{"off", "ask"} {
		s := newSeat(t, calls("Bash", map[string]any{"command": "rm notes.txt"}), says("Deleted."), calls("Bash", map[string]any{"command": "rm .env"}), says("Not deleted."))
		s.put("notes.txt", "worth keeping\n")
		s.put(".env", "KEY=secret\n")
		s.start("--preview", preview)
		s.type_("delete the notes\r")
		s.see("/rewind can restore these files.")
		if strings.Contains(s.screen(), "permanently") {
			t.Errorf("it warns of a loss that a rewind restores:\n%s", s.screen())
		}
		s.turnTo()
		s.type_("y")
		s.see("Deleted.")
		if _, err := os.Stat(filepath.Join(s.dir, "notes.txt")); err == nil {
			t.Fatal("the file is still there")
		}
		s.type_("/rewind\r")
		s.see("Rewind to just before which message?")
		s.type_("\r")
		s.see("What should be rewound?")
		s.type_("3\r")
		s.see("Restored 1 file")
		if raw, err := os.ReadFile(filepath.Join(s.dir, "notes.txt")); string(raw) != "worth keeping\n" {
			t.Errorf("the file is not back: %q %v", raw, err)
		}
		if preview == "off" { // a preview keeps what it replaces, whatever it is
			s.type_("delete the key\r")
			s.turnTo()
			s.type_("y")
			s.see("This may destroy data permanently.")
			s.type_("no\r")
			s.see("The word did not match")
			s.type_("n")
			s.see("Not deleted.")
		}
		s.leave()
	}
}

// put writes a file of the project.
func (s *seat) put(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
