package shellrun

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/test/needtest"
)

// ownGroup begins a command that has its group in $g, that of its keeper in $k, and the one above that in $base.
func ownGroup(t *testing.T) string {
	t.Helper()
	if os.Getenv(suiteEnv) != "" {
		t.Skip("commands may not write cgroups in a box")
	}
	needtest.Need(t, needtest.Cgroups, needtest.Root)
	base, _ := ownCgroup()
	return "set -e; base=" + quote(base) + `; k=$base/haft-$PPID; g=$k/$(sed -n 's,^0::.*/,,p' /proc/self/cgroup); `
}

// groupOf returns the group of a host's keeper, which must be locked.
func groupOf(t *testing.T, h *Host) string {
	t.Helper()
	base, _ := ownCgroup()
	pid, _ := strconv.Atoi(keeperOf(t, h))
	group := keeperGroup(base, pid)
	if lock, ok := lockGroup(group); ok {
		lock.Close()
		t.Error("the group of the keeper is not locked: another haft would end what is in it")
	}
	return group
}

func must(t *testing.T, s *Shell, command, want string) {
	t.Helper()
	task := runWithin(t, 30*time.Second, s, Request{Command: command, Timeout: 20 * time.Second})
	if got, r := text(task), task.Result(); got != want || r.State != Exited || r.Status.Code != 0 {
		t.Fatalf("%s: %q, %+v; want %q", command, got, r, want)
	}
}

// Whatever a command does to its group, the next one has a new group, and nothing is left of both.
func TestEachCommandHasANewGroup(t *testing.T) {
	own := ownGroup(t)
	for name, sabotage := range map[string]string{
		"frozen":    "echo $$ >$k/cgroup.procs; echo 1 >$g/cgroup.freeze",
		"removed":   "echo $$ >$k/cgroup.procs; rmdir $g",
		"threaded":  "mkdir $g/sub; echo threaded >$g/sub/cgroup.type",
		"subgroups": "mkdir -p $g/a/b/c $g/d",
	} {
		t.Run(name, func(t *testing.T) {
			h := newTestHost(t, nil)
			s := h.NewShell("/")
			must(t, s, own+sabotage+"; echo done", "done\n")
			must(t, s, own+"cat $g/cgroup.type $g/cgroup.freeze; find $g -mindepth 1 -type d; ls -d $k/*/ | wc -l", "domain\n0\n1\n")
			group := groupOf(t, h)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			if exists(group) {
				t.Error("the group of the keeper is left behind")
			}
		})
	}
}

// A command that cannot be started in its group runs without one. The others keep theirs, and the lock stays.
func TestOneFailureDoesNotTurnGroupsOff(t *testing.T) {
	own := ownGroup(t)
	h := newTestHost(t, nil)
	s := h.NewShell("/")
	must(t, s, own+"echo $$ >$base/cgroup.procs; mkdir $k/x; echo threaded >$k/x/cgroup.type", "")
	must(t, s, own+"if grep -q haft- /proc/self/cgroup; then echo inside; fi; rmdir $k/x; echo ran", "ran\n")
	groupOf(t, h)
	must(t, s, own+"cat $g/cgroup.type", "domain\n")
}

// A keeper that hangs with the child that it is about to start is killed, and the child with it.
func TestAFrozenChildDoesNotHangTheCall(t *testing.T) {
	own := ownGroup(t)
	h := newTestHost(t, nil)
	h.base.(*supervisor).patience = 3 * time.Second
	s := h.NewShell("/")
	must(t, s, own+"echo $$ >$base/cgroup.procs; echo 1 >$k/cgroup.freeze", "")
	group := groupOf(t, h)
	task := runWithin(t, 60*time.Second, s, Request{Command: "true"})
	if r := task.Result(); !errors.Is(r.Status.Err, errKeeperDied) {
		t.Errorf("started in a frozen group: %+v", r)
	}
	if exists(group) {
		t.Error("the frozen group is left behind")
	}
	must(t, s, "echo again", "again\n")
}

// The death of the keeper is noticed although another process has its end of the socket.
func TestADeadKeeperIsNoticedThoughItsSocketIsOpen(t *testing.T) {
	h := newTestHost(t, nil)
	s := h.NewShell("/")
	task, err := s.Start(t.Context(), Request{Command: "sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	keeper := keeperOf(t, h)
	pid, _ := strconv.Atoi(keeper)
	held := socketsOf(t, pid)
	defer closeAll(held)
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-task.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the death of the keeper was not noticed")
	}
	if r := task.Result(); !errors.Is(r.Status.Err, errKeeperDied) {
		t.Errorf("result %+v", r)
	}
	must(t, s, "echo again", "again\n")
}

// socketsOf takes copies of the sockets of another process.
func socketsOf(t *testing.T, pid int) (fds []int) {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(process)
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if link, _ := os.Readlink(dir + "/" + e.Name()); !strings.HasPrefix(link, "socket:") {
			continue
		}
		n, _ := strconv.Atoi(e.Name())
		if fd, err := unix.PidfdGetfd(process, n, 0); err == nil {
			fds = append(fds, fd)
		}
	}
	if len(fds) == 0 {
		t.Skip("this user may not take the socket of the keeper")
	}
	return fds
}

func TestAGroupThatCannotBeReadCountsAsPopulated(t *testing.T) {
	if g := (&cgroup{dir: -1, events: -1}); !g.populated() {
		t.Error("nothing is known about the group, and it is taken for empty")
	}
}
