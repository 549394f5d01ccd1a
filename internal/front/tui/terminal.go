package tui

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/haftdev/haft/internal/text/lang"
)

// A Terminal is the one that this process runs in.
type Terminal struct {
	in, out *os.File
	state   *term.State
	raw     bool

	mu     sync.Mutex
	paused chan struct{} // closed when reading may go on; nil if it may
}

// OpenTerminal puts the terminal at in and out into raw mode. Whoever opens one
// closes it.
func OpenTerminal(in, out *os.File) (*Terminal, error) {
	t := &Terminal{in: in, out: out}
	// A file of our own can be interrupted while it is read, which lets an editor
	// have the keyboard; where there is none, it cannot.
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		if tty.SetReadDeadline(time.Time{}) == nil {
			t.in = tty
		} else {
			tty.Close()
		}
	}
	if err := t.makeRaw(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// IsTerminal reports whether a person sits at both ends.
func IsTerminal(in io.Reader, out io.Writer) bool {
	i, ok := in.(*os.File)
	o, also := out.(*os.File)
	return ok && also && term.IsTerminal(int(i.Fd())) && term.IsTerminal(int(o.Fd()))
}

func (t *Terminal) makeRaw() (err error) {
	t.state, err = term.MakeRaw(int(t.in.Fd()))
	t.raw = err == nil
	return err
}

func (t *Terminal) restore() error {
	if !t.raw {
		return nil
	}
	t.raw = false
	return term.Restore(int(t.in.Fd()), t.state)
}

// Close gives the terminal back as it was.
func (t *Terminal) Close() error {
	err := t.restore()
	if strings.HasPrefix(t.in.Name(), "/dev/tty") {
		err = errors.Join(err, t.in.Close())
	}
	return err
}

// Size returns that of the terminal; of one that does not know it, the usual one.
func (t *Terminal) Size() Size {
	w, h, err := term.GetSize(int(t.out.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return Size{80, 24}
	}
	return Size{w, h}
}

// Write writes to the terminal.
func (t *Terminal) Write(p []byte) (int, error) { return t.out.Write(p) }

// Read reads what is typed. While an editor has the keyboard it waits.
func (t *Terminal) Read(p []byte) (int, error) {
	for {
		t.mu.Lock()
		paused := t.paused
		t.mu.Unlock()
		if paused != nil {
			<-paused
		}
		n, err := t.in.Read(p)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue
		}
		return n, err
	}
}

// lend gives the keyboard to somebody else until the returned function is called.
func (t *Terminal) lend() (back func() error, err error) {
	paused := make(chan struct{})
	t.mu.Lock()
	t.paused = paused
	t.mu.Unlock()
	if err := t.in.SetReadDeadline(time.Now()); err != nil {
		return nil, err
	}
	if err := t.restore(); err != nil {
		return nil, err
	}
	return func() error {
		t.mu.Lock()
		t.paused = nil
		t.mu.Unlock()
		err := errors.Join(t.in.SetReadDeadline(time.Time{}), t.makeRaw())
		close(paused)
		return err
	}, nil
}

// Edit lets the person change a text in the editor that VISUAL or EDITOR names.
func (t *Terminal) Edit(text string) (edited string, err error) {
	dir, err := os.MkdirTemp("", "haft-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	if err := t.EditFile(path); err != nil {
		return "", err
	}
	raw, err := os.ReadFile(path)
	return string(raw), err
}

// EditFile lets the person change a file in that editor.
func (t *Terminal) EditFile(path string) error {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return lang.Errorf("no editor is set: set VISUAL or EDITOR")
	}
	back, err := t.lend()
	if err != nil {
		return err
	}
	words := strings.Fields(editor)
	cmd := exec.Command(words[0], append(words[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.in, t.out, t.out
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		err = lang.Errorf("There is no editor %q. Set EDITOR to another one.", words[0])
	}
	return errors.Join(err, back())
}

// HasAlternate reports whether the terminal that the environment tells of has an alternate
// screen. The Linux console has none, and GNU screen has one only if its user asks for it. Both
// ignore the sequence, and what is drawn would overwrite the conversation.
func HasAlternate(getenv func(string) string) bool {
	term := getenv("TERM")
	return term != "linux" && getenv("STY") == "" && (getenv("TMUX") != "" || !strings.HasPrefix(term, "screen"))
}
