package shellrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/sandbox"
)

// boxes are the keepers of confined commands, started with the first command
// that needs one, and what is known about confinement here.
type boxes struct {
	mu    sync.Mutex
	links map[boxKey]*link
	tiers map[boxKey]sandbox.Tier
	tmp   string   // the temporary directory of commands without a private one; "" before it is needed
	last  struct { // the snapshot that was taken last, by its Spec
		key  string
		shot *sandbox.Snapshot
	}
	proxy *localProxy // for commands without a network of their own; nil before it is needed
}

// A boxKey tells boxes apart. One box holds the commands of all Specs, so that
// they reach each other's servers, where the kernel keeps them apart.
type boxKey struct {
	hostNetwork bool
	thin        bool
	spec        string // "" for all
}

func (k boxKey) shape() sandbox.Shape {
	return sandbox.Shape{HostNetwork: k.hostNetwork, Thin: k.thin}
}

// snapshot looks which protected paths are missing, unless the last look at them
// still holds.
func (b *boxes) snapshot(spec *sandbox.Spec, key []byte) *sandbox.Snapshot {
	b.mu.Lock()
	last := b.last
	b.mu.Unlock()
	if last.shot == nil || last.key != string(key) || !last.shot.Holds() {
		last.key, last.shot = string(key), spec.Snapshot()
		b.mu.Lock()
		b.last = last
		b.mu.Unlock()
	}
	return last.shot
}

func (b *boxes) close() error {
	b.mu.Lock()
	links := b.links
	b.links = map[boxKey]*link{}
	if b.proxy != nil {
		_ = b.proxy.Close()
	}
	tmp := b.tmp
	b.mu.Unlock()
	var failed []error
	if tmp != "" {
		failed = append(failed, os.RemoveAll(tmp))
	}
	for _, l := range links {
		failed = append(failed, l.close())
	}
	return errors.Join(failed...)
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
	shape := key.shape()
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
	tier.Gaps = []string{"commands can change the modes, owners and times of any of your files", "commands see the processes outside the sandbox", "in /tmp, only the folder in TMPDIR is writable", "nothing can be previewed"}
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

// A boxLink is what the harness has for a box.
type boxLink struct {
	opts  sandbox.BoxOptions
	proxy *sandbox.Proxy // nil in a box with the network of the machine
	gaps  []string
	apart bool // commands with different Specs are kept apart
}

// begin maps the users of the started process and tells it what to make.
func (b *boxLink) begin(l *link) error {
	if err := sandbox.MapIDs(l.cmd.Process.Pid); err != nil {
		return err
	}
	return writeFrame(l.conn, b.opts)
}

// furnish takes what a new box says and sends of itself.
func (b *boxLink) furnish(e event, fds []int) error {
	b.gaps, b.apart = e.Gaps, e.Apart
	if b.opts.HostNetwork || b.opts.Thin {
		closeAll(fds)
		return nil
	}
	if len(fds) != 1 {
		closeAll(fds)
		return &sandbox.StepError{Step: sandbox.StepProxy, Text: "its socket did not arrive"}
	}
	file := os.NewFile(uintptr(fds[0]), "proxy")
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return &sandbox.StepError{Step: sandbox.StepProxy, Text: err.Error()}
	}
	b.proxy = sandbox.NewProxy(listener)
	return nil
}

// close gives back what is left of a box whose keeper is gone.
func (b *boxLink) close() {
	if b == nil {
		return
	}
	if b.proxy != nil {
		_ = b.proxy.Close()
	}
	_ = os.Remove(b.opts.Stage) // empty: what was mounted there only the box saw
}

// A localProxy is one on the loopback interface of the machine.
type localProxy struct {
	*sandbox.Proxy
	port int
}

func newLocalProxy() (*localProxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &localProxy{sandbox.NewProxy(l), l.Addr().(*net.TCPAddr).Port}, nil
}

// outerPID finds the pid outside of a box of one of its keeper's children; 0 if
// it is gone.
func outerPID(keeper, inner int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", keeper))
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(data)) {
			status, _ := os.ReadFile("/proc/" + field + "/status")
			_, rest, _ := strings.Cut(string(status), "\nNSpid:")
			line, _, _ := strings.Cut(rest, "\n")
			if ids := strings.Fields(line); len(ids) > 0 && ids[len(ids)-1] == strconv.Itoa(inner) {
				pid, _ := strconv.Atoi(field)
				return pid
			}
		}
	}
	return 0
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
		status.Taken, failed = shot.TakeBack(filepath.Join(os.TempDir(), "haft-taken"))
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
	shape := key.shape()
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
		if home != "" && lookup(env, c.variable) == "" && !usable {
			env = replace(env, c.variable, filepath.Join(tmp, c.dir))
		}
	}
	if len(spec.Write) <= 1 && len(spec.Layers) == 0 {
		env = replace(env, "GIT_OPTIONAL_LOCKS", "0") // git would complain that it cannot refresh its index
	}
	return env
}
