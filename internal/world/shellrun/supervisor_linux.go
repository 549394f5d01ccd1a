package shellrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/sandbox"
	"golang.org/x/sys/unix"
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
	hides    bool // commands see only the processes of their box
	patience time.Duration

	mu     sync.Mutex
	dir    string // to be removed at the end
	link   *link  // nil before the first command and after the keeper's death
	closed bool

	boxes boxes
}

func newSupervisor(r Reexec, noCgroup bool) *supervisor {
	return &supervisor{exe: r.path, noCgroup: noCgroup, hides: r.HideProcesses, patience: patience, boxes: boxes{links: map[boxKey]*link{}, tiers: map[boxKey]sandbox.Tier{}}}
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

// tier finds out by trying.
func (s *supervisor) tier(n sandbox.Network) sandbox.Tier {
	s.boxes.mu.Lock()
	defer s.boxes.mu.Unlock()
	return s.tierLocked(boxKey{hostNetwork: n == sandbox.Open})
}

// holds finds out by trying.
func (s *supervisor) holds() bool {
	s.boxes.mu.Lock()
	defer s.boxes.mu.Unlock()
	return s.tierLocked(boxKey{thin: true}).Kind == sandbox.TierBox
}

func (s *supervisor) tierLocked(key boxKey) sandbox.Tier {
	if t, ok := s.boxes.tiers[key]; ok {
		return t
	}
	t := s.probe(key)
	s.boxes.tiers[key] = t
	return t
}

func (s *supervisor) probe(key boxKey) sandbox.Tier {
	shape := key.shape(s.hides)
	l, err := s.openBox(shape)
	var failed *sandbox.StepError
	if errors.As(err, &failed) && failed.Step == sandbox.StepProc { // a container that covers parts of /proc
		shape.HostProcesses = true
		l, err = s.openBox(shape)
	}
	spec := "{}"
	if key.thin {
		spec = `{"Thin":true}`
	}
	if err == nil {
		s.boxes.links[key] = l
		if err = s.try(l, request{Box: json.RawMessage(spec)}); err == nil {
			return sandbox.Tier{Kind: sandbox.TierBox, Gaps: l.box.gaps}
		}
		delete(s.boxes.links, key)
		err = errors.Join(err, l.close())
	}
	tier := sandbox.Tier{Failures: []*sandbox.StepError{asStep(sandbox.StepStart, err)}}
	if key.thin { // nothing weaker keeps a command from single files
		return tier
	}
	plain, err := s.connect()
	if err == nil {
		err = s.try(plain, request{Box: json.RawMessage("{}"), Tmp: os.TempDir()})
	}
	if err != nil {
		tier.Failures = append(tier.Failures, asStep(sandbox.StepLandlock, err))
		return tier
	}
	tier.Kind = sandbox.TierLandlock
	return tier
}

// try confines a command that does nothing.
func (s *supervisor) try(l *link, r request) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	// That there is no such program is known after the thread was confined.
	_, err = l.start(Command{Path: "/dev/null", Args: []string{"true"}, Dir: "/", Output: null}, r, nil)
	var failed *sandbox.StepError
	if errors.As(err, &failed) {
		return failed
	}
	if l.dead() {
		return errKeeperDied
	}
	return nil
}

func asStep(step string, err error) *sandbox.StepError {
	var known *sandbox.StepError
	if errors.As(err, &known) {
		return known
	}
	e := &sandbox.StepError{Step: step, Text: fmt.Sprint(err)}
	errors.As(err, &e.Errno)
	return e
}

// openBox starts the keeper of a box.
func (s *supervisor) openBox(shape sandbox.Shape) (*link, error) {
	stage, err := os.MkdirTemp("", scratchPrefix+"box-")
	if err != nil {
		return nil, err
	}
	if stage, err = filepath.EvalSymlinks(stage); err != nil {
		return nil, err
	}
	box := &boxLink{opts: sandbox.BoxOptions{Shape: shape, Stage: stage}}
	s.mu.Lock()
	env := []string{boxEnv + "=1", tidyEnv + "=" + s.dir} // it may be the only keeper
	s.mu.Unlock()
	l, err := s.launch(shape.Attr(), env, box)
	if err != nil {
		box.close()
		return nil, err
	}
	return l, nil
}

func newLocalProxy() (*localProxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &localProxy{sandbox.NewProxy(l), l.Addr().(*net.TCPAddr).Port}, nil
}

// startConfined starts a command in the strongest confinement there is.
func (s *supervisor) startConfined(c Command) (Process, error) {
	if err := c.Box.Check(); err != nil {
		return nil, err
	}
	spec := *c.Box
	s.mu.Lock()
	scratch := s.dir
	s.mu.Unlock()
	if scratch != "" && !spec.Thin { // commands report there where they end, and read there what all commands run first
		spec.Read, spec.Protect = append(slices.Clone(spec.Read), scratch), append(slices.Clone(spec.Protect), scratch)
		spec.Write = append(slices.Clone(spec.Write), endsIn(scratch))
	}
	if spec.Tmp != nil && s.tier(spec.Network).Kind == sandbox.TierBox {
		spec.Tmp.Share(&spec)
	}
	key, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	l, tier, err := s.confinement(&spec, string(key))
	if err != nil {
		return nil, err
	}
	r := request{Box: key}
	if !spec.Thin {
		c.Env = boxEnviron(c.Env, &spec)
	}
	if tier == sandbox.TierLandlock {
		if r.Tmp, err = s.tmp(); err != nil {
			return nil, err
		}
		c.Env = replace(c.Env, "TMPDIR", r.Tmp)
	}
	pass, err := s.issue(l, &spec, &c, &r)
	if err != nil {
		return nil, err
	}
	shot := s.boxes.snapshot(c.Box, r.Box)
	p, err := l.start(c, r, func(status *Status) {
		status.Tier = tier
		if pass != nil {
			status.Refused = pass.Refused()
			pass.Close()
		}
		var failed error
		status.Taken, failed = shot.TakeBack()
		status.Err = errors.Join(status.Err, failed)
	})
	if err != nil && pass != nil {
		pass.Close()
	}
	return p, err
}

// tmp is the temporary directory of commands that have no private /tmp.
func (s *supervisor) tmp() (string, error) {
	s.boxes.mu.Lock()
	defer s.boxes.mu.Unlock()
	if isDir(s.boxes.tmp) {
		return s.boxes.tmp, nil
	}
	dir, err := os.MkdirTemp("", scratchPrefix+"tmp-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("make a temporary directory for confined commands: %w", err)
	}
	s.boxes.tmp = dir
	return dir, nil
}

// confinement finds the keeper that can keep a Spec, and what it confines with.
func (s *supervisor) confinement(spec *sandbox.Spec, key string) (*link, sandbox.Kind, error) {
	s.boxes.mu.Lock()
	defer s.boxes.mu.Unlock()
	kind := boxKey{hostNetwork: spec.Network == sandbox.Open}
	if spec.Thin {
		kind = boxKey{thin: true}
	}
	tier := s.tierLocked(kind)
	switch tier.Kind {
	case sandbox.TierBox:
		l, err := s.boxLocked(kind, key)
		return l, sandbox.TierBox, err
	case sandbox.TierLandlock:
		l, err := s.connect()
		return l, sandbox.TierLandlock, err
	}
	return nil, sandbox.TierNone, tier.Unavailable()
}

// boxLocked returns the box, started again if it was killed; where Specs are not
// kept apart in one, a box for the Spec.
func (s *supervisor) boxLocked(key boxKey, spec string) (*link, error) {
	l := s.boxes.links[key]
	shape := key.shape(s.hides)
	if l != nil {
		shape = l.box.opts.Shape
		if !l.box.apart {
			key.spec = spec
			l = s.boxes.links[key]
		}
	}
	if l != nil && !l.dead() {
		return l, nil
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, errors.New("start a command: the runner is closed")
	}
	l, err := s.openBox(shape)
	if err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	s.boxes.links[key] = l
	return l, nil
}

// issue gives a command its way to the proxy.
func (s *supervisor) issue(l *link, spec *sandbox.Spec, c *Command, r *request) (*sandbox.Pass, error) {
	if spec.Network == sandbox.Open || spec.Thin {
		return nil, nil
	}
	reach := spec.Reach
	if spec.Network == sandbox.Offline {
		reach = nil
	}
	proxy, port := (*sandbox.Proxy)(nil), sandbox.ProxyPort
	if l.box != nil {
		proxy = l.box.proxy
	} else {
		s.boxes.mu.Lock()
		defer s.boxes.mu.Unlock()
		if s.boxes.proxy == nil {
			var err error
			if s.boxes.proxy, err = newLocalProxy(); err != nil {
				return nil, fmt.Errorf("start the proxy of the sandbox: %w", err)
			}
		}
		proxy, port = s.boxes.proxy.Proxy, s.boxes.proxy.port
		r.Port = port
	}
	pass := proxy.Issue(reach)
	c.Env = replaceAll(c.Env, pass.Env(port))
	return pass, nil
}

// unreachable are variables that lead to sockets which no confined command
// reaches.
var unreachable = []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "WAYLAND_DISPLAY"}

// caches are where programs keep below the home folder what they can make again,
// unless a variable says otherwise.
var caches = []struct{ variable, dir string }{{"XDG_CACHE_HOME", ".cache"}, {"npm_config_cache", ".npm"}, {"GOMODCACHE", "go/pkg/mod"}}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// boxEnviron is the environment of a confined command.
func boxEnviron(env []string, spec *sandbox.Spec) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.Contains(unreachable, name) || spec.Tmp == nil && (name == "TMP" || name == "TEMP")
	})
	tmp := "/dev/shm" // which is always private
	if i := slices.IndexFunc(sandbox.TmpDirs(), func(dir string) bool { return !slices.Contains(spec.Read, dir) }); i >= 0 && spec.Tmp == nil {
		tmp = sandbox.TmpDirs()[i]
	}
	switch own := lookup(env, "TMPDIR"); {
	case spec.Tmp == nil:
		env = replace(env, "TMPDIR", tmp)
	case own != "" && !slices.Contains(sandbox.TmpDirs(), filepath.Clean(own)) && !spec.Tmp.Own(own): // it cannot be written
		env = replace(env, "TMPDIR", "/tmp")
	}
	writable := slices.Concat(spec.Scratch, spec.Write)
	for _, l := range spec.Layers {
		writable = append(writable, l.Dir)
	}
	for _, c := range caches {
		home := lookup(env, "HOME")
		dir := filepath.Join(home, c.dir)
		// No layer can be put on a folder that is not there, and programs could not make it. One that was made
		// since the Spec was has none either.
		usable := exists(dir) && slices.ContainsFunc(writable, func(w string) bool { return pathin.Contains(w, dir) })
		if c.variable == "GOMODCACHE" && spec.Network == sandbox.Offline {
			continue // without network nothing is put there, and go env prints where it is
		}
		if home != "" && lookup(env, c.variable) == "" && !usable {
			env = replace(env, c.variable, filepath.Join(tmp, c.dir))
		}
	}
	if len(spec.Write) <= 1 && len(spec.Layers) == 0 {
		env = replace(env, "GIT_OPTIONAL_LOCKS", "0") // git would complain that it cannot refresh its index
	}
	return env
}
