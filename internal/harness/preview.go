package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/internal/preview"
	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/workspace"
)

// previews runs commands that are asked about where nothing of them counts, if that
// is set; nil if it is not.
func (w *World) previews() bash.Previews {
	if !w.Project.Counts.Flag("bash", "preview") {
		return nil
	}
	return &previews{world: w, store: filepath.Join(workspace.StateDir(), "previews")}
}

type previews struct {
	world *World
	store string
	sweep sync.Once
}

// Run runs the command in a layer, where there is a box and the session can record
// what is applied.
func (p *previews) Run(ctx context.Context, shell *shellrun.Shell, r shellrun.Request) (bash.Previewed, error) {
	s := p.world.link.Journal()
	if s == nil || s.Dir() == "" {
		return nil, nil
	}
	if tier := p.world.host.Tier(sandbox.Offline); tier.Kind != sandbox.TierBox {
		return nil, nil
	}
	p.sweep.Do(func() { _ = preview.Sweep(p.store) }) // what killed processes left
	dirs, err := preview.Folders(p.world.Project.Dir)
	if err != nil {
		return nil, err
	}
	for _, root := range sandbox.Resolve(p.world.Project.Guard.Roots()...) {
		if !containedIn(dirs, root) {
			dirs = append(dirs, root)
		}
	}
	result, err := preview.Run(ctx, preview.Request{Shell: shell, Command: r, Dirs: dirs, Home: homeBeside(dirs), Store: p.store})
	if result == nil {
		return nil, err
	}
	return previewed{result, p.world}, err
}

func containedIn(dirs []string, path string) bool {
	for _, dir := range dirs {
		if pathin.Contains(dir, path) {
			return true
		}
	}
	return false
}

// homeBeside is the user's home, if it does not lie in one of the folders.
func homeBeside(dirs []string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if home, err = filepath.EvalSymlinks(home); err != nil || home == "/" || containedIn(dirs, home) {
		return ""
	}
	return home
}

// A previewed is a command whose change waits for the session's user.
type previewed struct {
	*preview.Result
	world *World
}

func (p previewed) Task() *shellrun.Task { return p.Result.Task }

func (p previewed) Wanted() string {
	switch {
	case len(p.Refused) > 0:
		return fmt.Sprintf("it wanted to reach %s, which a preview does not let it", strings.Join(p.Refused, ", "))
	case len(p.Outside) > 0:
		return fmt.Sprintf("it wrote %s outside of the project, which a preview drops", strings.Join(p.Outside, ", "))
	case len(p.LeftOut) > 0:
		return fmt.Sprintf("it made the socket or device %s, which a preview cannot apply", strings.Join(p.LeftOut, ", "))
	}
	return ""
}

func (p previewed) Apply(ctx context.Context, call string) error {
	s := p.world.link.Journal()
	if s == nil {
		return errors.New("there is no session to record it in")
	}
	return p.Result.Apply(ctx, s, call)
}
