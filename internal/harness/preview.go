package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// previews runs commands that are asked about in an overlay, where they change nothing.
type previews struct {
	world *World
	box   func(tool.Confinement) *sandbox.Spec
	sweep sync.Once
}

// works reports whether commands can be previewed: it is not turned off, there is a
// sandbox, and the session can record what is applied. A user who could have a sandbox is told.
func (p *previews) works() bool {
	if p.world.previewMode() == project.PreviewOff {
		return false
	}
	if s := p.world.link.Journal(); s == nil && !p.world.Project.Options.DryRun || s != nil && s.Dir() == "" {
		return false
	}
	tier := p.world.host.Tier(sandbox.Offline)
	if tier.Kind != sandbox.TierBox && tier.Help() != "" && p.world.previewMode() == project.PreviewAsk {
		p.world.link.Warn("sandbox", tier.Lost()+" 'haft doctor' says what would change that.")
	}
	return tier.Kind == sandbox.TierBox
}

// answering says who answers what the rules leave open.
type answering int32

const (
	byNobody answering = iota
	byProgram
	byUser
)

// maxAside is how long a command may run before the user is asked about it instead of its
// change. No one wants to wait two minutes for the question about a server.
const maxAside = time.Minute

// Run runs the command in a layer.
func (p *previews) Run(ctx context.Context, c *tool.Call, shell *shellrun.Shell, r shellrun.Request) (bash.Previewed, error) {
	w := p.world
	hidden := p.box(tool.ReadOnly) // what no command may show is not asked about either
	if hidden == nil {
		return nil, sandbox.ErrUnavailable
	}
	request, err := w.Project.Boxes.Preview(hidden, w.Engine.Guard())
	if err != nil {
		return nil, err
	}
	byRules, err := w.policyOf(r.Owner).HiddenFrom(c)
	if err != nil {
		return nil, err
	}
	request.Hide = slices.Concat(request.Hide, byRules)
	p.sweep.Do(func() { _ = preview.Sweep(request.Store) }) // what killed processes left
	if w.previewMode() == project.PreviewAsk {
		r.Timeout = min(r.Timeout, maxAside)
	}
	if w.Engine.Policy().Mode() != permission.Plan { // what it makes there stays, whatever becomes of its change
		request.Tmp = w.Project.Tmp
	}
	request.Shell, request.Command = shell, r
	result, err := preview.Run(ctx, request)
	if result == nil {
		return nil, err
	}
	blind := slices.ContainsFunc(byRules, func(path string) bool {
		return slices.ContainsFunc(request.Dirs, func(dir string) bool { return pathin.Contains(dir, path) })
	})
	return previewed{result, w, blind}, err
}

// A previewed is a command whose change waits for the session's user.
type previewed struct {
	*preview.Result
	world *World
	blind bool // files of the project looked empty to it
}

func (p previewed) Task() *shellrun.Task { return p.Result.Task }

func (p previewed) Wanted() string {
	switch {
	case len(p.Refused) > 0:
		return fmt.Sprintf("it tried to reach %s, which a preview does not allow", strings.Join(p.Refused, ", "))
	case p.changedForeign() != "":
		return fmt.Sprintf("it tried to change %s, which another program had there before this session", p.changedForeign())
	case len(p.Outside) > 0 && !p.Changed():
		return fmt.Sprintf("it changed %s outside the project, which a preview drops", preview.Listed(p.Outside, 5))
	case len(p.LeftOut) > 0:
		return fmt.Sprintf("it created the socket or device %s, which a preview cannot apply", strings.Join(p.LeftOut, ", "))
	case p.blind && p.ChangesGit():
		return "it changed the git repository, and may have recorded files that rules hide from it as empty"
	}
	return ""
}

// changedForeign is something of another program in a temporary directory that the command tried to
// change; "" if there is none. A project may be in a temporary directory, and is not another program's.
func (p previewed) changedForeign() string {
	for _, a := range p.Result.Task.Result().Status.Unwritten {
		layered := slices.ContainsFunc(p.Result.Box.Layers, func(l sandbox.Layer) bool { return pathin.Contains(l.Dir, a.Path) })
		if tmp := p.world.Project.Tmp; !a.Maybe && !layered && tmp.Entry(a.Path) != "" && !tmp.Own(a.Path) {
			return a.Path
		}
	}
	return ""
}

func (p previewed) Box() *sandbox.Spec { return p.Result.Box }

func (p previewed) Apply(ctx context.Context, call string, dropped []tool.Dropped) error {
	var paths []string
	for _, d := range dropped {
		paths = append(paths, d.Path)
	}
	return p.Result.Apply(ctx, p.world.link.Journal(), call, paths...)
}
