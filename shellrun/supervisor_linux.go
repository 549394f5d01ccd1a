package shellrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/sandbox"
)

// patience is how long the keeper may take to answer, on a machine that has
// much else to do.
const patience = 8 * time.Second

// A supervisor is the harness's end: a Runner that has its processes started
// and watched by the keeper process, which starts with the first command and
// again after it was killed.
type supervisor struct {
	exe      string
	noCgroup bool
	patience time.Duration

	mu     sync.Mutex
	dir    string // to be removed at the end
	link   *link  // nil before the first command and after the keeper's death
	closed bool

	boxes boxes
}

func newSupervisor(r Reexec, noCgroup bool) *supervisor {
	return &supervisor{exe: r.path, noCgroup: noCgroup, patience: patience, boxes: boxes{links: map[boxKey]*link{}, tiers: map[boxKey]sandbox.Tier{}}}
}

func (s *supervisor) tidy(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

func (s *supervisor) Start(c Command) (Process, error) {
	if c.Box != nil {
		return s.startConfined(c)
	}
	l, err := s.connect()
	if err != nil {
		return nil, err
	}
	return l.start(c, request{}, nil)
}

func (s *supervisor) connect() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("start a command: the runner is closed")
	}
	if s.link != nil && !s.link.dead() {
		return s.link, nil
	}
	l, err := s.startKeeper()
	if err != nil {
		return nil, fmt.Errorf("start the shell supervisor: %w", err)
	}
	s.link = l
	return l, nil
}

// Close ends every command with all its descendants, and the keeper.
func (s *supervisor) Close() error {
	s.mu.Lock()
	l := s.link
	s.link, s.closed = nil, true
	s.mu.Unlock()
	err := s.boxes.close()
	if l == nil {
		return err
	}
	return errors.Join(err, l.close())
}

// startKeeper runs this program again as the keeper.
func (s *supervisor) startKeeper() (*link, error) {
	return s.launch(&syscall.SysProcAttr{Setsid: true}, []string{tidyEnv + "=" + s.dir}, nil)
}

// launch starts a keeper and waits until it is ready. For a box it first does
// what must be done from outside.
func (s *supervisor) launch(attr *syscall.SysProcAttr, env []string, box *boxLink) (*link, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "keeper")
	defer theirs.Close()
	conn, err := socketConn(fds[0])
	if err != nil {
		return nil, err
	}
	mode := "1"
	if s.noCgroup {
		mode = noCgroupValue
	}
	cmd := exec.Command(s.exe)
	cmd.Args = []string{keeperName}
	cmd.Dir = "/"
	// Little memory and few threads; under the race detector, what that was told.
	cmd.Env = append([]string{keeperEnv + "=" + mode, "GOMAXPROCS=2", "GOGC=50", "GORACE=" + os.Getenv("GORACE")}, env...)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	l := &link{conn: conn, cmd: cmd, gone: make(chan struct{}), patience: s.patience, procs: map[uint32]*process{}, box: box}
	if box != nil {
		err = box.begin(l)
	}
	if err == nil {
		err = l.awaitHello()
	}
	if err != nil {
		conn.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	go l.listen()
	return l, nil
}
