// Package bash provides the tools Bash, BashOutput, KillShell and Monitor, which share the
// table of background commands.
//
//	tools := bash.New(host, &bash.Options{Dir: project})
//	set := tool.NewSet(session, tools.List(), nil, nil)
//
// Tools is safe for concurrent use. The host is the caller's to close; EndAgent ends
// everything that one agent started.
//
// Trust: a command may do whatever the user may, within its call's Confinement. The pipeline
// gives permission to run before Run is called, together with the confinement, which
// Options.Box translates for the kernel to enforce. The model's words reach bash unchanged, as
// one argument. Commands do not inherit provider keys (see package shellrun), but a command
// that may read the user's files may read keys stored there. The output of a command is
// untrusted text. A plain sed -i is carried out as a file edit and runs no program.
package bash

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

var (
	//go:embed bash.md
	bashText string
	//go:embed bashoutput.md
	outputText string
	//go:embed killshell.md
	killText string
	//go:embed monitor.md
	monitorText string
)

// BackgroundFlag is the session flag without which commands cannot be run in
// the background.
const BackgroundFlag = "background"

// Options configure the tools. A nil *Options means all zero values.
type Options struct {
	Dir string // where commands start; empty means the root directory

	// Environ holds environment variables with settings: HAFT_BASH_TIMEOUT_MS,
	// HAFT_BASH_MAX_TIMEOUT_MS, HAFT_BASH_BACKGROUND_MS and HAFT_BASH_MAX_OUTPUT, or Claude
	// Code's names for them. Nil means none.
	Environ []string

	Timeout    time.Duration // of a command that gives none; zero means as Environ says, else 2 minutes
	MaxTimeout time.Duration // that a command may give; zero means as Environ says, else 10 minutes
	MaxOutput  int           // characters of output in a result; zero means as Environ says, else 30,000

	KeepEscapes bool // leaves terminal escapes in results
	EndAtLimit  bool // ends a command at its timeout instead of moving it to the background
	// Detached is how long a command that moved to the background at its timeout may continue
	// to run there; 0 means HAFT_BASH_BACKGROUND_MS, or an hour.
	Detached time.Duration

	// Analyze says what a command would do in a directory; nil means that nothing is known
	// of commands.
	Analyze func(command, dir string) *shell.Analysis
	// Harden returns the environment in which a command that was shown to change nothing
	// indeed changes nothing in a directory; see [shell.Hardening]. Such commands run without
	// the user's profile. Nil means that they run like any other.
	Harden func(dir string) []string

	// Box returns what confines a command with a given verdict. A nil Box or a nil result
	// means that nothing does.
	Box func(tool.Confinement) *sandbox.Spec
	// Unsandboxed says that the user can be asked to let a command run without the
	// sandbox.
	Unsandboxed bool

	// Agents are the agents that run in the background, so that one tool stops commands and
	// agents; nil means none.
	Agents Agents

	// Heard, if not nil, is called with each background command whose end was shown to an
	// agent in a result.
	Heard func(agent, id string)

	// Shown, if not nil, is called with each command that succeeded, with the directory that
	// it started in and all of its output.
	Shown func(agent, dir, command, output string)

	// Gone, if not nil, is called once with each folder that is gone when a command should
	// start in it; the command is refused.
	Gone func(dir string)

	// Previews run commands that need approval in an overlay, where they change nothing; nil
	// means that nothing is known about a command before it runs.
	Previews Previews

	// Edit makes plain sed -i commands file edits; nil means that they run like
	// any command.
	Edit *Edit
}

// Agents are the agents of a session that work in the background.
type Agents interface {
	// About says what an agent does and where its transcript is, which may be "". It
	// reports false for an id that no agent has.
	About(id string) (work, transcript string, ok bool)
	// Stop ends an agent's work and reports whether it was working.
	Stop(id string) bool
}

// Tools are the shell tools of a session.
type Tools struct {
	host *shellrun.Host
	opts Options

	warned sync.Once

	mu      sync.Mutex
	shells  map[string]*shellrun.Shell // by agent
	pending map[pendingCall]*pending
	refused []refusedCommand // the latest last
	lost    []string         // the folders that the user was told are gone
	watched map[watch]int64  // where the last line that Monitor found ends
}

// New returns the tools, which run commands on a host.
func New(host *shellrun.Host, opts *Options) *Tools {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Dir == "" {
		o.Dir = "/"
	}
	o.Timeout = firstSet(o.Timeout, millisOf(o.Environ, "HAFT_BASH_TIMEOUT_MS", "BASH_DEFAULT_TIMEOUT_MS", "CLAUDE_BASH_TIMEOUT_MS"), 2*time.Minute)
	o.MaxTimeout = firstSet(o.MaxTimeout, millisOf(o.Environ, "HAFT_BASH_MAX_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS"), 10*time.Minute)
	o.MaxTimeout = max(o.MaxTimeout, o.Timeout)
	o.Detached = firstSet(o.Detached, millisOf(o.Environ, "HAFT_BASH_BACKGROUND_MS"), time.Hour)
	o.MaxOutput = firstSet(o.MaxOutput, numberOf(o.Environ, "HAFT_BASH_MAX_OUTPUT", "BASH_MAX_OUTPUT_LENGTH"), 30_000)
	return &Tools{host: host, opts: o, shells: make(map[string]*shellrun.Shell), pending: make(map[pendingCall]*pending), watched: make(map[watch]int64)}
}

// List returns the tools.
func (t *Tools) List() []tool.Tool {
	return []tool.Tool{t.bash(), t.bashOutput(), t.killShell(), t.monitor()}
}

// shell returns the shell of an agent, made with its first command.
func (t *Tools) shell(agent string) *shellrun.Shell {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.shells[agent]
	if s == nil {
		s = t.host.NewShell(t.opts.Dir)
		t.shells[agent] = s
	}
	return s
}

// Dir returns the directory in which the next command of an agent starts.
func (t *Tools) Dir(agent string) string { return t.shell(agent).Dir() }

// Move makes the next command of an agent start in dir. Its commands belong to the folder home
// from then on: if that is gone, none is started.
func (t *Tools) Move(agent, home, dir string) error { return t.shell(agent).Settle(home, dir) }

// EndAgent ends every command of an agent that has ended, and forgets its directory.
func (t *Tools) EndAgent(agent string) {
	t.mu.Lock()
	s := t.shells[agent]
	delete(t.shells, agent)
	t.mu.Unlock()
	_ = t.dropPreviews(func(of string) bool { return of == agent }) // what stays is swept later
	if s != nil {
		s.Close()
	}
}

// DropPreviews drops the changes that wait for an answer, at the end of a session.
func (t *Tools) DropPreviews() error {
	return t.dropPreviews(func(string) bool { return true })
}

func (t *Tools) bash() tool.Tool {
	b := tool.New(tool.Def[Input, Output]{
		Name:          "Bash",
		SearchHint:    "shell command terminal execute run script",
		Describe:      t.describe,
		Validate:      t.validate,
		Permission:    t.permission,
		Classify:      func(in Input) string { return in.Command },
		Command:       func(in *Input) *string { return &in.Command },
		Analyze:       t.analyze,
		Paths:         t.paths,
		Preview:       t.preview,
		Run:           t.run,
		Render:        Output.Render,
		Summarize:     func(in Input) string { return in.Command }, // the description is only the model's word for it
		MaxResult:     t.opts.MaxOutput + 5_000,                    // the output is bounded where it arises; what is said about it comes on top
		StopsSiblings: true,

		SummarizeResult: Output.summary,
	})
	b.Marks = t.marks
	return b
}

// moves finds commands that may leave the shell in another directory. It finds too
// many rather than too few.
var moves = lazyregexp.New(`\b(cd|pushd|popd)\b`)

func (t *Tools) validate(_ context.Context, c *tool.Call, in Input) *tool.Problem {
	if err := t.shell(c.Agent).Gone(); err != nil {
		return &tool.Problem{Message: t.gone(err)}
	}
	limit, advice := t.opts.MaxTimeout, ""
	switch {
	case in.RunInBackground:
		limit = max(limit, maxBackground)
	case hasBackground(c.Session):
		advice = ", or set run_in_background, whose maximum is " + millis(max(limit, maxBackground))
	}
	if in.Timeout > limit.Milliseconds() {
		return &tool.Problem{Message: fmt.Sprintf("timeout is %d ms; the maximum is %s. Give a shorter one%s.", in.Timeout, millis(limit), advice)}
	}
	return nil
}

// gone tells the user that the folder of the commands is gone, once for each that is, and returns what the
// model is told.
func (t *Tools) gone(err error) string {
	var gone *shellrun.GoneError
	if errors.As(err, &gone) && t.opts.Gone != nil {
		t.mu.Lock()
		told := slices.Contains(t.lost, gone.Dir)
		if !told {
			t.lost = append(t.lost, gone.Dir)
		}
		t.mu.Unlock()
		if !told {
			t.opts.Gone(gone.Dir)
		}
	}
	return fmt.Sprintf("The command was not run: %v. It would have run in another folder. Tell the user, who can restore the folder. If it is a worktree that you entered, leave it with ExitWorktree.", err)
}

// maxBackground is the longest timeout of a command in the background, which nobody
// waits for.
const maxBackground = 2 * time.Hour

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + " ms" }

// describe says what the model reads, with the limits of this session.
func (t *Tools) describe(s *tool.Session) string {
	limits := fmt.Sprintf("- `timeout` is in milliseconds: default %d, maximum %d", t.opts.Timeout.Milliseconds(), t.opts.MaxTimeout.Milliseconds())
	switch {
	case !hasBackground(s):
		limits += ". A command that runs longer is stopped."
	case t.opts.EndAtLimit:
		limits += fmt.Sprintf(" (%d in the background). A command that runs longer is stopped.", max(t.opts.MaxTimeout, maxBackground).Milliseconds())
	default:
		limits += fmt.Sprintf(" (%d in the background). A command that runs longer continues in the background.", max(t.opts.MaxTimeout, maxBackground).Milliseconds())
	}
	text := strings.Replace(bashText, "{limits}", limits, 1)
	if !hasBackground(s) {
		text = strings.Replace(text, " To keep a server or a watcher running, set `run_in_background`, not `&`.", "", 1)
	}
	return text
}
