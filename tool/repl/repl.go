// Package repl provides the REPL tool, which evaluates Python and JavaScript in processes that
// keep their state from call to call.
//
//	tools := repl.New(host, &repl.Options{Dir: shell.Dir})
//	set := tool.NewSet(session, []tool.Tool{tools.REPL()}, nil, nil)
//
// Tools is safe for concurrent use. The host is the caller's to close and ends the
// processes; EndAgent ends those of one agent.
//
// Trust: like a shell command, code may do whatever the user may, within its call's
// Confinement. The pipeline gives permission to run before Run is called, together with the
// confinement, which Options.Box translates for the kernel to enforce. Each confinement has
// its own processes, so that a process with more rights never evaluates code that was given
// fewer. Unlike a command, code is not analysed before it runs: no part of it is known to be
// harmless, so the user is asked about every call unless a rule or its confinement allows it.
// The interpreters inherit the same environment as commands, without provider keys. They end,
// with everything they started, when the session ends or haft is killed. Threads and timers
// that an evaluation leaves running continue until then. The output is untrusted text.
package repl

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

//go:embed repl.md
var description string

// Input is what the model sends.
type Input struct {
	Language string `json:"language" jsonschema:"The language of the code." haft:"enum=python|javascript;alias=lang;example=python"`
	Code     string `json:"code,omitempty" jsonschema:"The code to evaluate. Leave it out to only reset." haft:"alias=command|script|source;example=sum(range(10))"`
	Timeout  int64  `json:"timeout,omitempty" jsonschema:"The time limit, in milliseconds." haft:"min=1;example=120000"`
	Reset    bool   `json:"reset,omitempty" jsonschema:"End this language's process first, with all its state."`
}

// Options configure the tool. A nil *Options means all zero values.
type Options struct {
	Dir func(agent string) string // where an agent's processes start; nil means the root directory

	// Box returns what confines code with a given verdict. A nil Box or a nil result means
	// that nothing does.
	Box func(tool.Confinement) *sandbox.Spec

	Timeout    time.Duration // of a call that gives none; zero means 2 minutes
	MaxTimeout time.Duration // that a call may give; zero means 10 minutes
	MaxOutput  int           // characters of output in a result; zero means 30,000
	Grace      time.Duration // that interrupted code has to stop; zero means 3 seconds
}

// Tools are the interpreters of a session.
type Tools struct {
	host *shellrun.Host
	opts Options

	mu      sync.Mutex
	running map[place]*slot
}

// A place is what a process belongs to.
type place struct {
	agent, language string
	confinement     tool.Confinement // "" if nothing confines it
}

// A slot holds the process of a place. Evaluations take turns.
type slot struct {
	turn    sync.Mutex
	process *interpreter // nil if there is none
	within  string       // what the process may touch
}

// New returns the tool, which runs interpreters on a host.
func New(host *shellrun.Host, opts *Options) *Tools {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Dir == nil {
		o.Dir = func(string) string { return "/" }
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 10 * time.Minute
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = 30_000
	}
	if o.Grace <= 0 {
		o.Grace = 3 * time.Second
	}
	return &Tools{host: host, opts: o, running: make(map[place]*slot)}
}

// REPL returns the tool.
func (t *Tools) REPL() tool.Tool {
	limits := fmt.Sprintf("`timeout` is in milliseconds: default %d, maximum %d", t.opts.Timeout.Milliseconds(), t.opts.MaxTimeout.Milliseconds())
	return tool.New(tool.Def[Input, Output]{
		Name:        "REPL",
		SearchHint:  "evaluate python javascript node code interpreter notebook state calculate",
		Description: strings.Replace(description, "{limits}", limits, 1),
		Validate:    t.validate,
		Permission:  permission,
		Classify:    func(in Input) string { return in.Language + " code: " + in.Code },
		Run:         t.run,
		Render:      Output.Render,
		Summarize:   func(in Input) string { return in.Language + ": " + in.Code },
		MaxResult:   t.opts.MaxOutput + 5_000, // the output is bounded where it arises; what is said about it comes on top
		Deferred:    true,

		StopsSiblings: true,
	})
}

func (t *Tools) validate(_ context.Context, _ *tool.Call, in Input) *tool.Problem {
	if most := t.opts.MaxTimeout.Milliseconds(); in.Timeout > most {
		return &tool.Problem{Message: fmt.Sprintf("timeout is %d ms; the maximum is %d ms. Give a shorter one.", in.Timeout, most)}
	}
	if strings.TrimSpace(in.Code) == "" && !in.Reset {
		return &tool.Problem{Message: "code is empty. Give the code to evaluate, or set reset."}
	}
	return nil
}

// permission has no view of code that it cannot read. The rule that it suggests
// allows this code alone; code with a star in it would be a pattern for other code,
// and has none.
func permission(_ context.Context, _ *tool.Call, in Input) tool.Verdict {
	if in.Code == "" {
		return tool.Verdict{Behavior: tool.Allow, Reason: "it only ends a process of this session"}
	}
	exact := tool.Suggestion{Behavior: tool.Allow, Scope: "local"}
	if !strings.ContainsAny(in.Code, "*\n") {
		exact.Rule = "REPL(" + in.Code + ")"
	}
	return tool.Verdict{Suggestions: []tool.Suggestion{exact}}
}

// slot returns where the process of a place is kept.
func (t *Tools) slot(p place) *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.running[p]
	if s == nil {
		s = new(slot)
		t.running[p] = s
	}
	return s
}

// EndAgent ends the processes of an agent that has ended.
func (t *Tools) EndAgent(agent string) {
	t.mu.Lock()
	var over []*slot
	for p, s := range t.running {
		if p.agent == agent {
			over = append(over, s)
			delete(t.running, p)
		}
	}
	t.mu.Unlock()
	for _, s := range over {
		s.turn.Lock()
		s.end()
		s.turn.Unlock()
	}
}

// end ends the process, if there is one, and waits for it. The caller has the turn.
func (s *slot) end() {
	if s.process != nil {
		s.process.end()
		s.process = nil
	}
}
