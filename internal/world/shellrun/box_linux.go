package shellrun

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/world/sandbox"
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

// shape says which namespaces the box has. Commands that cannot signal the processes of the machine
// may see them, unless they are to be hidden.
func (k boxKey) shape(hide bool) sandbox.Shape {
	return sandbox.Shape{HostNetwork: k.hostNetwork, Thin: k.thin, HostProcesses: !hide && !k.thin && sandbox.ScopesSignals()}
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
