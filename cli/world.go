package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/permission/shell"
	"github.com/haftdev/haft/search"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/bash"
	"github.com/haftdev/haft/tool/builtin"
	"github.com/haftdev/haft/tool/todo"
	"github.com/haftdev/haft/tool/websearch"
	"github.com/haftdev/haft/webpage"
	"github.com/haftdev/haft/webpage/searxng"
	"github.com/haftdev/haft/workspace"
)

// A world is a project with everything that tools act on, and the policy that
// judges them. Nothing is started or read before a tool needs it.
type world struct {
	*project
	builtin.World
	host   *shellrun.Host
	engine *permission.Engine
	hooks  *hook.Runner
}

// openWorld opens the project that this process runs in.
func openWorld(reexec shellrun.Reexec) (*world, error) {
	p, err := openProject()
	if err != nil {
		return nil, err
	}
	opts, err := p.options()
	if err != nil {
		return nil, err
	}
	w := &world{project: p}
	if w.Files, err = workspace.Open(p.dir, &workspace.Options{Add: p.guard.Roots()[1:], Home: p.home}); err != nil {
		return nil, err
	}
	environ, pass := p.environment()
	w.host = shellrun.NewHost(&shellrun.Options{Reexec: reexec, Environ: environ, EnvNames: pass, Spool: spool()})
	w.Shell = bash.New(w.host, &bash.Options{
		Dir: p.guard.Cwd(), Environ: environ, ReadOnly: p.readOnly, Hardening: p.hardening, Edit: builtin.SedEdits(w.Files),
		KeepEscapes: p.counts.Flag("bash", "keepEscapes"), EndAtLimit: p.counts.Flag("bash", "endAtTimeout"),
	})
	w.World.Search = search.New(nil)
	w.World.Dir = func() string { return w.Shell.Dir("") }
	opts.Dir, opts.Commands = w.Shell.Dir, shell.OS{}
	w.engine = permission.NewEngine(opts)
	w.hooks = hook.New(hook.FromSettings(p.counts.Hooks()), &hook.Options{
		Project: p.dir,
		Common: func(agent string) hook.Common {
			return hook.Common{Cwd: w.Shell.Dir(agent), PermissionMode: string(w.engine.Policy().Mode())}
		},
		Check: p.stillTrusted,
		Match: func(rule string, t *tool.Tool, c *tool.Call) (bool, error) {
			return w.engine.Policy().Matches(rule, t, c)
		},
	})
	w.Todos = todo.NewList(nil)
	if w.Web, err = p.web(); err != nil {
		return nil, err
	}
	if w.SearchWeb, err = p.searchWeb(); err != nil {
		return nil, err
	}
	w.Readable = func(path string) bool { return w.engine.Policy().MayRead(path) }
	return w, nil
}

// web fetches pages, as far as the settings let it go beyond the public internet.
func (p *project) web() (*webpage.Fetcher, error) {
	opts := &webpage.Options{Proxy: http.ProxyFromEnvironment}
	for _, host := range p.counts.PrivateHosts() {
		opts.Private = append(opts.Private, host.Text)
	}
	web, err := webpage.New(opts)
	if err != nil {
		return nil, fmt.Errorf("webFetch.allowPrivate in the settings: %w", err)
	}
	return web, nil
}

// searchWeb asks the search server that the settings name; nil if they name none.
func (p *project) searchWeb() (websearch.Backend, error) {
	endpoint, ok := p.counts.Text("webSearch", "endpoint")
	if !ok {
		return nil, nil
	}
	server, err := searxng.New(endpoint.Text, &searxng.Options{Proxy: http.ProxyFromEnvironment})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint.Origin, err)
	}
	return func(ctx context.Context, q websearch.Query) ([]websearch.Hit, error) {
		found, err := server.Search(ctx, q.Text)
		var hits []websearch.Hit
		for _, h := range found {
			hits = append(hits, websearch.Hit(h))
		}
		return hits, err
	}, nil
}

// Close ends every command and gives back what is held open.
func (w *world) Close() error {
	w.hooks.Close()
	return errors.Join(w.host.Close(), w.World.Search.Close(), w.Files.Close())
}

// set assembles the pool as a session would.
func (w *world) set(session *tool.Session, bare bool) *tool.Set {
	var opts tool.SetOptions
	if bare {
		opts.Only = builtin.Bare()
	}
	return tool.NewSet(session, w.Tools(), nil, &opts)
}

// stillTrusted looks again at what a project's hook would run: a tool may have
// changed the script since the session began.
func (p *project) stillTrusted(h *hook.Hook) error {
	if p.folder == nil {
		return nil // nothing of the project counts at all
	}
	now, _, err := p.folder.Filter(p.all)
	if err != nil {
		return err
	}
	for _, counting := range hook.FromSettings(now.Hooks()) {
		if counting.Origin == h.Origin && counting.Event == h.Event && counting.Command == h.Command && counting.URL == h.URL {
			return nil
		}
	}
	return errors.New("what it runs has changed since it was trusted; look at it and trust it again with: haft trust")
}

// environment is that of this process with what the settings add, and the names
// of it that shell commands inherit beside the usual ones.
func (p *project) environment() (environ, pass []string) {
	environ = os.Environ()
	for _, v := range p.counts.Env() {
		environ = append(environ, v.Name+"="+v.Text.Text)
		pass = append(pass, v.Name)
	}
	for _, name := range p.counts.PassEnv() {
		pass = append(pass, name.Text)
	}
	return environ, pass
}

// readOnly reports whether a command was shown to change nothing.
func (p *project) readOnly(command, dir string) bool {
	return shell.Analyze(command, p.shellOptions(dir)).ReadOnly
}

// hardening is the environment in which that holds.
func (p *project) hardening(dir string) []string {
	env, _ := shell.Hardening(p.shellOptions(dir))
	return env
}

func (p *project) shellOptions(dir string) *shell.Options {
	return &shell.Options{Cwd: dir, Home: p.home, Roots: p.guard.Roots(), FS: shell.OS{}}
}

// spool keeps long outputs of commands where resultStore keeps long results.
func spool() *shellrun.SpoolOptions {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return &shellrun.SpoolOptions{Dir: filepath.Join(cache, "haft", "shell")}
}
