package harness

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// A confiner says what confines commands. It remembers what it found out until the folders,
// or what is hidden in them, change.
type confiner struct {
	project *project.Project
	engine  func() *permission.Engine
	host    *shellrun.Host

	mu   sync.Mutex
	made map[tool.Confinement]*madeSpec
}

type madeSpec struct {
	spec  *sandbox.Spec
	guard *guard.Guard
	seen  map[string]time.Time
}

// box returns what a command may touch; nil means everything, because that was the verdict,
// or because this machine cannot confine commands and the settings do not insist.
func (c *confiner) box(to tool.Confinement) *sandbox.Spec {
	held, err := c.engine().Policy().Held()
	if to == tool.Held { // the verdict relies on it; a user who was asked allowed it without
		if err == nil && !c.host.Holds() {
			err = errors.New("this machine has no sandbox that keeps commands from what rules deny")
		}
		return (&sandbox.Spec{Thin: true, Unknown: err}).Holding(held.Closed, held.Fixed, held.Pinned)
	}
	if to != tool.ReadOnly && to != tool.ProjectOnly {
		return nil
	}
	if !c.works() {
		return nil
	}
	return c.usual(to).Holding(held.Closed, held.Fixed, nil)
}

// usual is what a command with a confinement may touch, whatever the rules about files say.
func (c *confiner) usual(to tool.Confinement) *sandbox.Spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.engine().Guard()
	if m := c.made[to]; m != nil && m.guard == g && m.current() {
		return m.spec
	}
	spec, seen := c.project.Boxes.Command(to, g)
	spec.Reach = func(host string, _ int) error { return c.engine().Policy().Reach(host) }
	m := &madeSpec{spec: spec, guard: g, seen: map[string]time.Time{}}
	for _, dir := range seen {
		m.seen[dir] = changedAt(dir)
	}
	if c.made == nil {
		c.made = map[tool.Confinement]*madeSpec{}
	}
	c.made[to] = m
	return spec
}

// works reports whether this machine confines commands. The first call finds out.
func (c *confiner) works() bool { return c.host.Tier(sandbox.Offline).Kind != sandbox.TierNone }

// A Sandbox is what confines commands.
type Sandbox struct {
	Mode    settings.SandboxMode
	Enabled bool         // for commands that may write, too
	Tier    sandbox.Tier // of this machine
	Known   bool         // whether Tier was found: the first command that is confined finds it
}

func (m *madeSpec) current() bool {
	for dir, at := range m.seen {
		if !changedAt(dir).Equal(at) {
			return false
		}
	}
	return true
}

// changedAt is when files of a folder were last added or removed; zero if there is no
// folder.
func changedAt(dir string) time.Time {
	info, err := os.Stat(dir)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
