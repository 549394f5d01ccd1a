package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/permission/ask"
	"github.com/haftdev/haft/permission/audit"
	"github.com/haftdev/haft/permission/trust"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/workspace"
	"github.com/haftdev/haft/workspace/guard"
)

// A project is what is set for the folder that a command runs in.
type project struct {
	dir, home string
	files     settings.Options
	all       *settings.Settings // what the files say
	counts    *settings.Settings // what of it counts
	held      []trust.Held       // what does not, for want of trust
	folder    *trust.Folder
	guard     *guard.Guard
}

// openProject reads the settings of the working directory.
func openProject() (*project, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	root, err := trust.FindRoot(wd)
	if err != nil {
		return nil, err
	}
	p := &project{dir: root.Path}
	p.home, _ = os.UserHomeDir() // without one there are no user settings
	p.files = settings.Options{Home: p.home, Project: p.dir}
	if p.all, err = settings.Load(&p.files); err != nil {
		return nil, err
	}
	if err := managedIntact(p.all); err != nil {
		return nil, err
	}
	if err := p.filter(); err != nil {
		return nil, err
	}
	return p, p.newGuard(wd)
}

// managedIntact refuses to go on without what an administrator has set: a file
// that cannot be read may hold denials.
func managedIntact(s *settings.Settings) error {
	for _, problem := range s.Problems() {
		if problem.Kind == settings.Skipped && problem.Source == settings.Managed {
			return fmt.Errorf("the managed settings cannot be used; ask your administrator to mend them: %s", problem)
		}
	}
	return nil
}

// warn tells of settings files that do not count as a whole: what they deny is not
// denied.
func (p *project) warn(w io.Writer) {
	for _, problem := range p.all.Problems() {
		if problem.Kind == settings.Skipped {
			fmt.Fprintf(w, "warning: %s; nothing in it counts, its denials neither\n", ask.Visible(problem.String()))
		}
	}
}

// warnUntrusted tells what of the project does not count yet.
func (p *project) warnUntrusted(w io.Writer) {
	if p.folder == nil {
		return
	}
	if u := trust.NewUntrusted(p.folder, p.held); u != nil {
		fmt.Fprintf(w, "note: %s\n", ask.Visible(u.Error()))
	}
}

// filter leaves out what the person has not agreed to. Where that cannot be
// known, nothing of the project counts but what makes haft more careful.
func (p *project) filter() error {
	path, err := trust.DefaultPath()
	if err != nil {
		p.counts = trust.Without(p.all)
		return nil
	}
	if p.folder, err = trust.NewStore(path).Folder(p.dir); err != nil {
		return err
	}
	p.counts, p.held, err = p.folder.Filter(p.all)
	return err
}

func (p *project) newGuard(cwd string) (err error) {
	roots := []string{p.dir}
	for _, d := range p.counts.Directories() {
		dir := d.Text
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			dir = filepath.Join(p.home, rest)
		} else if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.dir, dir)
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			roots = append(roots, dir)
		}
	}
	p.guard, err = guard.New(&guard.Options{Roots: roots, Home: p.home, Cwd: cwd, State: workspace.StateDir()})
	return err
}

// options are those of the session's policy.
func (p *project) options() (permission.Options, error) {
	opts := permission.Options{Rules: permission.Rules(p.counts), Trusted: true, Guard: p.guard, Home: p.home}
	mode, _ := p.counts.Mode()
	var err error
	if opts.Mode, err = permission.ParseMode(mode.Text); err != nil {
		return opts, fmt.Errorf("%s: %w", mode.Origin, err)
	}
	if p.counts.Disabled(string(opts.Mode)) {
		opts.Mode = permission.Default
	}
	return opts, nil
}

// auditLog is where this person's verdicts are written down.
func (p *project) auditLog() (*audit.Log, error) {
	if p.home == "" {
		return nil, errors.New("there is no home folder to keep the audit log in")
	}
	return audit.NewLog(filepath.Join(p.home, ".haft", "audit.jsonl")), nil
}
