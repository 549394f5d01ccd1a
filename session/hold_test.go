package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// nobody is a process that cannot be.
const nobody = 1 << 30

// killedWithCommands returns a session whose process is gone, as far as anybody can
// tell, while a command of it has the file open that is returned.
func killedWithCommands(t *testing.T) (*Store, *Session, *os.File) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("locks are not shared on Windows")
	}
	store := Open(t.TempDir())
	s, err := store.Create(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := s.Hold(); f != nil || err != nil {
		t.Errorf("a session that was not begun is held by %v, %v", f, err)
	}
	if err := s.Append(t.Context(), userText("start")); err != nil {
		t.Fatal(err)
	}
	command, err := s.Hold()
	if err != nil {
		t.Fatal(err)
	}
	// What the end of the process does, which unlocks nothing that others have.
	if err := errors.Join(s.lock.hold.Close(), s.lock.file.Unlock()); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	raw, err := json.Marshal(owner{PID: nobody, Host: host})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.Dir(), "owner"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return store, s, command
}

func TestWhoeverGoesOnWaitsForDyingCommands(t *testing.T) {
	store, s, command := killedWithCommands(t)
	for _, fork := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := store.Resume(ctx, s.ID(), &ResumeOptions{Fork: fork}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("fork %v: error %v while a command runs", fork, err)
		}
	}
	var ended atomic.Bool
	time.AfterFunc(100*time.Millisecond, func() {
		ended.Store(true)
		command.Close()
	})
	again, err := store.Resume(t.Context(), s.ID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !ended.Load() {
		t.Error("it went on while a command was running")
	}
}

func TestCommandsThatNeverEndAreTold(t *testing.T) {
	_, s, command := killedWithCommands(t)
	defer command.Close()
	if _, _, err := hold(t.Context(), s.Dir(), 0); !errors.Is(err, errHeld) {
		t.Errorf("error %v", err)
	}
	want := "commands of session " + s.ID() + " are still running although process " + strconv.Itoa(nobody) + " was killed"
	if err := held(s.Dir(), s.ID()); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), command.Name()) {
		t.Errorf("error %q, want %q and the file %s", err, want, command.Name())
	}
}

func TestASessionThatIsClosedIsNotHeldByCommands(t *testing.T) {
	store := Open(t.TempDir())
	s, err := store.Create(t.Context(), nil)
	if err == nil {
		err = s.Append(t.Context(), userText("start"))
	}
	if err != nil {
		t.Fatal(err)
	}
	command, err := s.Hold()
	if err != nil {
		t.Fatal(err)
	}
	defer command.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), holdTime/2)
	defer cancel()
	again, err := store.Resume(ctx, s.ID(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
