//go:build linux || darwin

package cli_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
)

// TestTmuxKeepsNoFrames talks in a real tmux, whose scrollback must hold the conversation
// and nothing of the frames that were drawn on the way, resizes included.
func TestTmuxKeepsNoFrames(t *testing.T) {
	tmux := needtest.Program(t, "tmux")
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
		for _, resized := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%d, resized %v", size[0], size[1], resized), func(t *testing.T) {
				t.Parallel()
				var text strings.Builder
				for i := range 60 {
					fmt.Fprintf(&text, "this is %d\n\n", i)
				}
				answer := says(text.String())
				answer.Delta, answer.Chunk = 20, 10
				s := newSeat(t, calls("Bash", in{"command": strings.Repeat("make something\n", 60)}), answer)
				p := &pane{t: t, tmux: tmux, socket: filepath.Join(t.TempDir(), "s")}
				p.start(s.command("--preview", "off"), size) // the question is about the lines of the command
				p.until("be ready", "asks first · ")
				p.run("send-keys", "count", "Enter")
				p.until("ask", "tab: go to this question") // on a screen that is full
				if resized {
					p.resize(size)
					p.split(size, "tab: go to this question")
				}
				time.Sleep(400 * time.Millisecond) // until it can be turned to
				p.run("send-keys", "Tab")
				p.until("turn to it", "a letter answers")
				if resized {
					p.resize(size)
					p.split(size, "a letter answers")
				}
				time.Sleep(200 * time.Millisecond) // and answered
				p.run("send-keys", "n")
				p.until("begin", "this is 5")
				if resized {
					p.resize(size)
				}
				p.until("end", "this is 59")
				p.until("be ready again", "what should haft do?")
				p.check()
			})
		}
	}
}

// TestCommandsInTmux calls for the screens of the main commands in a real terminal, in Chinese,
// and closes each of them.
func TestCommandsInTmux(t *testing.T) {
	tmux := needtest.Program(t, "tmux")
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 15}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			s := newSeat(t, says("done"))
			p := &pane{t: t, tmux: tmux, socket: filepath.Join(t.TempDir(), "s")}
			p.start(s.command("--lang", "zh"), size)
			p.until("be ready", "先询问 · ")
			for _, c := range []struct{ command, want string }{
				{"/permissions", "添加规则"}, {"/config", "哪项设置？"}, {"/memory", "选择说明文件"}, {"/theme", "选择哪个主题？"}, {"/model", "选择模型"},
			} {
				p.run("send-keys", c.command, "Enter")
				p.until("show "+c.command, c.want)
				p.run("send-keys", "Escape")
				p.until("close "+c.command, "tab：/init")
			}
			p.run("send-keys", "/context", "Enter")
			p.until("draw the context", "的上下文包含")
			p.run("send-keys", "/vim", "Enter")
			p.until("switch to vim", "插入 · 先询问")
		})
	}
}

// A pane is haft in a tmux of its own.
type pane struct {
	t            *testing.T
	tmux, socket string
	env          []string
}

func (p *pane) start(haft *exec.Cmd, size [2]int) {
	p.t.Helper()
	p.env = haft.Env
	p.t.Cleanup(func() { p.command("kill-server").Run() })
	p.run("new-session", "-d", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]), "-c", haft.Dir, strings.Join(haft.Args, " "))
}

func (p *pane) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.tmux, append([]string{"-S", p.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = append(p.env, "LC_ALL=C.UTF-8")
	return cmd
}

func (p *pane) run(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// resize makes the window narrower and wider, as when a border is dragged.
func (p *pane) resize(size [2]int) {
	p.t.Helper()
	for _, d := range []int{-7, 5, -3} {
		p.run("resize-window", "-x", strconv.Itoa(size[0]+d), "-y", strconv.Itoa(size[1]+d/2))
		time.Sleep(50 * time.Millisecond) // a user needs longer
	}
}

// split makes the window much smaller and brings it back, as when a pane beside it comes and
// goes. While an answer streams this would be no fair test: tmux tells programs of a new size up
// to 250 ms late, and what they draw meanwhile is for the old one.
func (p *pane) split(size [2]int, sign string) {
	p.t.Helper()
	for _, to := range [][2]int{{size[0] * 2 / 3, size[1] * 2 / 3}, size} {
		p.run("resize-window", "-x", strconv.Itoa(to[0]), "-y", strconv.Itoa(to[1]))
		p.until("be drawn at another size", sign)
	}
}

// text is the scrollback and the screen.
func (p *pane) text() string { return p.run("capture-pane", "-p", "-J", "-S", "-") }

func (p *pane) until(what, text string) {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(p.text(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("did not %s: there is no %q in\n%s", what, text, p.text())
		}
	}
}

// check counts what must be there once.
func (p *pane) check() {
	p.t.Helper()
	all := p.text()
	for i := range 60 {
		if n := len(regexp.MustCompile(fmt.Sprintf(`(?m)^ *this is %d *$`, i)).FindAllString(all, -1)); n != 1 {
			p.t.Errorf("%d times: this is %d", n, i)
		}
	}
	for _, once := range []string{"what should haft do?", "asks first · ", "esc interrupts", "Run this command?"} {
		want := 1
		if once == "esc interrupts" || once == "Run this command?" {
			want = 0 // it was on the screen on the way
		}
		if n := strings.Count(all, once); n != want {
			p.t.Errorf("%d times, want %d: %s", n, want, once)
		}
	}
	if p.t.Failed() {
		p.t.Log(all)
	}
}

// TestTmuxWords prints what a newcomer reads first in a real terminal: with its own breaks,
// it has the same words as where there is no terminal. (The folder with the name of this test
// has to fit into a line.)
func TestTmuxWords(t *testing.T) {
	tmux := needtest.Program(t, "tmux")
	s := newSeat(t)
	for _, c := range []struct{ command, last string }{
		{"doctor", "Next:"},
		{"help all", "  wire            The wire"},
		{"mcp --help", "for more information about a command."},
		{"demo --help", "uiLanguage"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			cmd := s.command(strings.Fields(c.command)...)
			piped := exec.Command(cmd.Args[0], cmd.Args[1:]...)
			piped.Dir, piped.Env = cmd.Dir, cmd.Env
			want, err := piped.Output()
			if err != nil && c.command != "doctor" { // which finds that there is something to fix
				t.Fatalf("%v: %s", err, want)
			}
			p := &pane{t: t, tmux: tmux, socket: filepath.Join(t.TempDir(), "s")}
			cmd.Args = append([]string{"COLUMNS="}, append(cmd.Args, "; sleep 60")...)
			p.start(cmd, [2]int{72, 24})
			p.until("print", c.last)
			screen := p.run("capture-pane", "-p", "-S", "-") // without joining what the terminal broke
			if got := strings.Fields(screen); !slices.Equal(got, strings.Fields(string(want))) {
				t.Errorf("other words, the first of them after %q:\n%s", firstDifference(got, strings.Fields(string(want))), screen)
			}
		})
	}
}

func firstDifference(a, b []string) []string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[max(i-3, 0):i]
		}
	}
	return nil
}
