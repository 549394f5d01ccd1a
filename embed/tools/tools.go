// Package tools has haft's own tools, for programs that run package agent or sched themselves,
// with their own policy and without haft's settings, rules and sessions.
//
//	project, err := tools.Open(dir, nil)
//	defer project.Close()
//	set := tool.NewSet(nil, []tool.Tool{tools.Read(project), tools.Edit(project)}, nil, nil)
//
// Each tool has a function, so that a program links only what it names. Tools that belong to a
// conversation of haft, such as those for agents, skills and plans, are only in conversations of
// package embed.
//
// Trust: a tool does what it is called with. The policy of the program (sched.Options.Judge and
// Askers) decides about calls; the facts of a call say which files it reads and writes. Files
// outside the project and files with credentials are not special here, and commands have all the
// rights of the program. They end with Close; if the program is killed, they may continue.
//
// A project is safe for concurrent use. The caller closes it after the last call.
package tools

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/edit"
	"github.com/haftdev/haft/internal/tools/glob"
	"github.com/haftdev/haft/internal/tools/grep"
	"github.com/haftdev/haft/internal/tools/notebook"
	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/internal/tools/read"
	"github.com/haftdev/haft/internal/tools/repl"
	"github.com/haftdev/haft/internal/tools/sleep"
	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/internal/tools/webfetch"
	"github.com/haftdev/haft/internal/tools/write"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/webpage"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/tool"
)

// Options configure a [Project]. Nil means all zero values.
type Options struct {
	// State is a folder for what a crash must not lose while files are written, which no one else
	// may write to; "" means haft's own.
	State string
}

// A Project is the folder that tools work in, with what they share: what the model has read, and
// the shell.
type Project struct {
	files *workspace.Workspace

	mu     sync.Mutex
	search *search.Searcher
	host   *shellrun.Host
	shell  *bash.Tools
	// dir is where the shell is; nil without one. It and closers keep what no tool uses out of
	// the program.
	dir     func(agent string) string
	closers []func() error
}

// Open opens the project in a folder.
func Open(dir string, o *Options) (*Project, error) {
	if o == nil {
		o = &Options{}
	}
	files, err := workspace.Open(dir, &workspace.Options{State: o.State})
	if err != nil {
		return nil, err
	}
	return &Project{files: files, closers: []func() error{files.Close}}, nil
}

// Dir is where relative paths of an agent's calls start, for sched.Options.Dir.
func (p *Project) Dir(agent string) string {
	p.mu.Lock()
	dir := p.dir
	p.mu.Unlock()
	if dir == nil {
		return p.files.Root()
	}
	return dir(agent)
}

// Contains reports whether a path is the folder or below it, where links lead. Relative paths start
// in the project. A policy asks it about the paths of a call, which may be spelled in many ways.
func (p *Project) Contains(folder, path string) bool {
	in := func(name string) string {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.files.Root(), name)
		}
		return p.files.Look(name).Real
	}
	return pathin.Contains(in(folder), in(path))
}

// Close ends all commands and gives back what is held open.
func (p *Project) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, f := range slices.Backward(p.closers) {
		errs = append(errs, f())
	}
	p.closers = nil
	return errors.Join(errs...)
}

// Read reads files, images, PDFs and notebooks.
func Read(p *Project) tool.Tool { return read.New(p.files, nil) }

// Write writes whole files.
func Write(p *Project) tool.Tool { return write.New(p.files) }

// Edit replaces text in a file.
func Edit(p *Project) tool.Tool { return edit.New(p.files) }

// MultiEdit makes several replacements in a file at once.
func MultiEdit(p *Project) tool.Tool { return edit.NewMulti(p.files) }

// NotebookEdit changes cells of a notebook.
func NotebookEdit(p *Project) tool.Tool { return notebook.New(p.files) }

// Glob finds files by name.
func Glob(p *Project) tool.Tool {
	return glob.New(&glob.Options{Searcher: p.searcher(), Dir: func() string { return p.Dir("") }})
}

// Grep finds text in files.
func Grep(p *Project) tool.Tool {
	return grep.New(&grep.Options{Searcher: p.searcher(), Dir: func() string { return p.Dir("") }})
}

func (p *Project) searcher() *search.Searcher {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.search == nil {
		p.search = search.New(&search.Options{Decode: p.files.SearchText})
		p.closers = append(p.closers, p.search.Close)
	}
	return p.search
}

// Bash runs commands. They may run in the background, where BashOutput, KillShell and Monitor find
// them, if the session of the set has the flag "background".
func Bash(p *Project) tool.Tool { return p.ofShell("Bash") }

// BashOutput shows what a command in the background has written.
func BashOutput(p *Project) tool.Tool { return p.ofShell("BashOutput") }

// KillShell ends a command in the background.
func KillShell(p *Project) tool.Tool { return p.ofShell("KillShell") }

// Monitor waits for a line of a command in the background, or for a file.
func Monitor(p *Project) tool.Tool { return p.ofShell("Monitor") }

// ofShell returns one of the tools that share the commands in the background.
func (p *Project) ofShell(name string) tool.Tool {
	host := p.hostOf()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shell == nil {
		p.shell = bash.New(host, &bash.Options{Dir: p.files.Root()})
		p.dir = p.shell.Dir
	}
	list := p.shell.List()
	return list[slices.IndexFunc(list, func(t tool.Tool) bool { return t.Name == name })]
}

func (p *Project) hostOf() *shellrun.Host {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.host == nil {
		p.host = shellrun.NewHost(&shellrun.Options{Project: []string{p.files.Root()}})
		p.closers = append(p.closers, p.host.Close)
	}
	return p.host
}

// REPL evaluates Python and JavaScript in processes that keep their state.
func REPL(p *Project) tool.Tool {
	return repl.New(p.hostOf(), &repl.Options{Dir: p.Dir}).REPL()
}

// WebFetch fetches pages of the public internet, and of the private hosts and networks, such as
// 10.0.0.0/8 or *.corp.example, that are named.
func WebFetch(private ...string) (tool.Tool, error) {
	web, err := webpage.New(&webpage.Options{Private: private})
	if err != nil {
		return tool.Tool{}, err
	}
	return webfetch.New(web, nil), nil
}

// TodoWrite keeps a list of what each agent has to do.
func TodoWrite() tool.Tool { return todo.New(todo.NewList(nil)) }

// AskUserQuestion asks the user: an asker (sched.Options.Askers) puts the answers into the input.
func AskUserQuestion() tool.Tool { return question.New() }

// Sleep waits.
func Sleep() tool.Tool { return sleep.New() }
