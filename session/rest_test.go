package session_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// TestBetweenTurnsAnotherProcessMayContinue: between turns, a session is free. The one whose
// turn comes first continues it, and the other is told so.
func TestBetweenTurnsAnotherProcessMayContinue(t *testing.T) {
	store := session.Open(t.TempDir())
	first, err := store.Create(t.Context(), &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	turn := func(s *session.Session, text string) error {
		if err := s.TakeUp(t.Context()); err != nil {
			return err
		}
		if err := s.Append(t.Context(), sessiontest.Prompt(text), sessiontest.Answer(session.NewUUID(), model.TextOf("answer to "+text))); err != nil {
			return err
		}
		return s.PutDown()
	}
	if err := turn(first, "one"); err != nil {
		t.Fatal(err)
	}
	second, err := store.Resume(t.Context(), first.ID(), nil)
	if err != nil {
		t.Fatalf("while the first rests: %v", err)
	}
	if err := second.PutDown(); err != nil {
		t.Fatal(err)
	}
	if err := turn(first, "two"); err != nil { // the second has said nothing yet
		t.Fatal(err)
	}
	if err := turn(second, "lost"); !errors.Is(err, session.ErrFenced) {
		t.Errorf("a turn of the second: %v", err)
	}
	third := sessiontest.Resume(t, store, first.ID(), nil)
	if err := first.TakeUp(t.Context()); !errors.As(err, new(*session.InUseError)) {
		t.Errorf("while the third is at work: %v", err)
	}
	if err := turn(third, "three"); err != nil {
		t.Fatal(err)
	}
	state := session.Entry{State: &session.State{Name: "x", Value: json.RawMessage("1")}}
	if err := first.Append(t.Context(), state); !errors.Is(err, session.ErrFenced) {
		t.Errorf("what the first appends: %v", err)
	}
	if err := third.PutDown(); err != nil {
		t.Fatal(err)
	}
	if err := third.Append(t.Context(), state); err != nil { // beside a turn
		t.Error(err)
	}
	for _, s := range []*session.Session{first, second, third} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	last := sessiontest.Resume(t, store, first.ID(), nil)
	if got := texts(last); got != "one, two, three" {
		t.Errorf("the session has %s", got)
	}
	if string(last.Restored().States["x"]) != "1" {
		t.Error("the state is lost")
	}
}

// texts are the prompts of a session.
func texts(s *session.Session) string {
	var all []string
	for i := range s.Restored().History.Len() {
		m, err := s.Restored().History.Message(i)
		if err != nil || m.Role != model.User {
			continue
		}
		for _, b := range m.Content {
			all = append(all, b.Text)
		}
	}
	return strings.Join(all, ", ")
}

// sharer is set in the processes that share a session.
const sharer = "HAFT_SESSION_SHARER"

// share takes turns in a session, and says which prompts it has written.
func share(ctx context.Context, dir string) {
	s, err := session.Open(filepath.Join(dir, "store")).Resume(ctx, workerSession, nil)
	if err == nil {
		defer s.Close()
		err = s.PutDown()
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the other is ready, too
	for range 15 {
		if err == nil {
			err = s.TakeUp(ctx)
		}
		if err != nil {
			fmt.Println("error", err)
			return
		}
		text := session.NewUUID()
		if err = s.Append(ctx, sessiontest.Prompt(text)); err == nil {
			fmt.Println("said", text)
			err = errors.Join(s.Append(ctx, sessiontest.Answer(session.NewUUID(), model.TextOf("yes"))), s.PutDown())
		}
	}
}

// TestTwoProcessesResumeAtOnce kills one or both of them at any moment, 200 times in the
// thorough run: what was written is there once and in one conversation, and one that cannot
// continue says why.
func TestTwoProcessesResumeAtOnce(t *testing.T) {
	rounds := 10
	if needtest.Thorough() {
		rounds = 200
	}
	dir := t.TempDir()
	store := session.Open(filepath.Join(dir, "store"))
	s, err := store.Create(t.Context(), &session.CreateOptions{ID: workerSession, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Append(t.Context(), sessiontest.Prompt("begin")), s.Close()); err != nil {
		t.Fatal(err)
	}
	said, errs := map[string]int{"begin": 1}, map[string]int{}
	for range rounds {
		var lines [2]*bufio.Reader
		var ins [2]io.WriteCloser
		var cmds [2]*exec.Cmd
		for i := range cmds {
			cmds[i] = exec.Command(os.Args[0])
			cmds[i].Env = append(os.Environ(), sharer+"="+dir)
			stdout, err := cmds[i].StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if ins[i], err = cmds[i].StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if err := cmds[i].Start(); err != nil {
				t.Fatal(err)
			}
			lines[i] = bufio.NewReader(stdout)
		}
		for i := range cmds {
			if line, err := lines[i].ReadString('\n'); err != nil || line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
		}
		for i, cmd := range cmds {
			if i == rand.IntN(2) || rand.IntN(4) == 0 { // one, both or none
				late := time.AfterFunc(time.Duration(rand.IntN(4_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
				defer late.Stop()
			}
		}
		for i := range cmds {
			_ = ins[i].Close()
		}
		for i, cmd := range cmds {
			out, err := io.ReadAll(lines[i])
			_ = cmd.Wait() // killed or not
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(out)) {
				switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); {
				case !strings.HasSuffix(line, "\n"):
				case word == "said":
					said[rest]++
				default:
					errs[rest]++
				}
			}
		}
	}
	for text := range errs {
		if text != session.ErrFenced.Error() && !strings.Contains(text, "is in use by ") {
			t.Errorf("not a clear error: %s", text)
		}
	}
	last := sessiontest.Resume(t, store, workerSession, nil)
	got := map[string]int{}
	for text := range strings.SplitSeq(texts(last), ", ") {
		got[text]++
	}
	for text := range said {
		if got[text] != 1 {
			t.Errorf("%s is there %d times", text, got[text])
		}
	}
	t.Logf("%d prompts, errors %v", len(said), errs)
	if len(said) < rounds {
		t.Errorf("only %d prompts were written", len(said))
	}
}
