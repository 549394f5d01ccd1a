//go:build unix

package live_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/wire"
)

// What a process that was killed leaves behind, its socket and the file that names it, is
// taken for no session that runs, and the next session removes the socket.
func TestAKilledProcessLeavesNothingThatMisleads(t *testing.T) {
	runtime, err := os.MkdirTemp("", "live") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(runtime)
	t.Setenv("XDG_RUNTIME_DIR", runtime) // both sessions have their sockets there
	s := newStage(t, sched.AskerFunc(silent), over)
	say(s, "first")
	<-s.ended
	watch(t, s, &wire.Observe{}, nil)
	journal := s.talk.Journal().Path()
	notice := filepath.Join(s.talk.Journal().Dir(), "live.json")
	var where struct {
		Socket string `json:"socket"`
		PID    int    `json:"pid"`
	}
	raw, err := os.ReadFile(notice)
	if err != nil || json.Unmarshal(raw, &where) != nil {
		t.Fatal(err)
	}
	s.stop()
	if _, err := os.Lstat(filepath.Dir(where.Socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of sockets is left: %v", err)
	}

	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(filepath.Dir(where.Socket), fmt.Sprintf("%d-STALE", gone.Process.Pid))
	if err := os.Mkdir(filepath.Dir(stale), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", stale)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	raw, err = json.Marshal(map[string]any{"socket": stale, "pid": gone.Process.Pid})
	if err == nil {
		err = os.WriteFile(notice, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if pid, ok := live.Running(journal); ok {
		t.Errorf("process %d is said to run", pid)
	}
	if _, err := live.Dial(t.Context(), journal); !errors.Is(err, live.ErrNotRunning) {
		t.Errorf("Dial: %v", err)
	}
	// The number of the process may be another's by now: nobody listens all the same.
	raw, err = json.Marshal(map[string]any{"socket": stale, "pid": os.Getpid()})
	if err == nil {
		err = os.WriteFile(notice, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.Dial(t.Context(), journal); !errors.Is(err, live.ErrNotRunning) {
		t.Errorf("Dial of a socket without a process: %v", err)
	}
	for _, garbage := range []string{"", "{", `{"socket":"relative","pid":1}`, `{"socket":"/dev/null","pid":1}`} {
		if err := os.WriteFile(notice, []byte(garbage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := live.Dial(t.Context(), journal); !errors.Is(err, live.ErrNotRunning) {
			t.Errorf("Dial with %q: %v", garbage, err)
		}
	}

	next := newStage(t, sched.AskerFunc(silent), over)
	say(next, "second")
	<-next.ended
	watch(t, next, &wire.Observe{}, nil)
	wait(t, "the removal of the stale socket", func() bool {
		_, err := os.Lstat(stale)
		return errors.Is(err, os.ErrNotExist)
	})
}
