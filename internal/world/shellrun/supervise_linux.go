package shellrun

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/world/sandbox"
)

const (
	keeperName    = "shellrun"
	noCgroupValue = "nocgroup"           // of keeperEnv
	boxEnv        = "HAFT_SHELLRUN_BOX"  // makes the keeper one of a box
	tidyEnv       = "HAFT_SHELLRUN_TIDY" // the scratch directory, which the keeper removes
)

// A Reexec proves that the program's main calls Supervise first, so that starting the program
// again gives a supervisor and not a second harness. The zero Reexec proves nothing: see
// [Options].
type Reexec struct {
	path string

	// HideProcesses gives confined commands a process namespace, as kernels do that cannot keep
	// them from signalling the processes of the machine.
	HideProcesses bool
}

// Supervise turns this process into the supervisor, and does not return, if it was started as
// one. A program that runs shell commands calls it first in main (tests call it in TestMain),
// before it parses flags or starts anything, and puts the result into [Options].
//
// It also keeps other processes of the same user from reading, with a debugger or through
// /proc, the memory and the initial environment of this process, which may hold provider keys.
// Root can still read them.
func Supervise() Reexec {
	mode, ok := os.LookupEnv(keeperEnv)
	if !ok {
		hide()
		return Reexec{path: "/proc/self/exe"}
	}
	syscall.Exit(superviseMain(mode)) // not os.Exit: nothing is buffered, and a harness waits for this
	panic("unreachable")
}

func superviseMain(mode string) int {
	// killall goes by this name: the keeper must not fall together with the
	// harness.
	_ = os.WriteFile("/proc/self/comm", []byte(keeperName), 0)
	own := openScore()           // what is hidden cannot open it
	if os.Getenv(boxEnv) == "" { // a box hides when its users are mapped, which those that are hidden cannot be
		hide()
	}
	conn, err := socketConn(3)
	if err != nil {
		fmt.Fprintln(os.Stderr, "haft: the variable "+keeperEnv+" is for haft itself; unset it")
		return 2
	}
	pid := os.Getpid()
	var box *sandbox.Box
	if os.Getenv(boxEnv) != "" {
		if box, pid, err = openBox(conn); err != nil {
			return 1
		}
		defer box.Close()
	}
	groups := cgroups{}
	if mode != noCgroupValue {
		groups = openCgroups(pid)
	}
	keep(conn, groups, box, own)
	if dir := os.Getenv(tidyEnv); strings.HasPrefix(filepath.Base(dir), scratchPrefix) {
		os.RemoveAll(dir)
	}
	return 0
}

// openBox makes this process the leader of a box when the harness has mapped its
// users. It returns the pid that the harness knows.
func openBox(conn *net.UnixConn) (*sandbox.Box, int, error) {
	var opts sandbox.BoxOptions
	if _, err := readFrame(conn, &opts); err != nil {
		return nil, 0, err
	}
	hide()
	self, _ := os.Readlink("/proc/self") // of the processes outside, until another /proc is mounted
	pid, _ := strconv.Atoi(self)
	box, err := sandbox.NewBox(opts)
	if err != nil {
		e := event{Op: opHello, Err: err.Error()}
		errors.As(err, &e.Failed)
		_ = writeFrame(conn, e)
	}
	return box, pid, err
}

// hide makes this process one that no other of the same user may look into.
// Programs that it starts are visible again.
func hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

func socketConn(fd int) (*net.UnixConn, error) {
	file := os.NewFile(uintptr(fd), "keeper")
	if file == nil {
		return nil, os.ErrInvalid
	}
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("not a unix socket")
	}
	return unixConn, nil
}
