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
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
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

func (t *Tools) run(ctx context.Context, c *tool.Call, in Input) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	at, box := t.place(c, in.Language)
	s := t.slot(at)
	s.turn.Lock()
	defer s.turn.Unlock()
	out := Output{Language: in.Language, State: stateOK, Confinement: at.confinement}
	l := languageOf(in.Language)
	if in.Reset && s.process != nil {
		s.end()
		out.note("The %s process was ended, with all its state.", l.title)
	}
	if strings.TrimSpace(in.Code) == "" {
		if len(out.Notes) == 0 {
			out.note("No %s process was running.", l.title)
		}
		return out, nil
	}
	if s.process != nil && s.process.over() {
		out.note("The %s process had ended since the last call (exit code %d).", l.title, s.process.proc.Status().Code)
		s.process = nil
	}
	within := boundary(box)
	if s.process != nil && s.within != within {
		s.end()
		out.note("What code may access has changed, so the %s process was ended, with all its state.", l.title)
	}
	if s.process == nil {
		dir := t.opts.Dir(c.Agent)
		p, err := l.start(ctx, t.host, dir, box)
		if err != nil {
			return Output{}, l.notStarted(err)
		}
		s.process, s.within = p, within
		out.note("A new %s process was started in %s: nothing is defined yet.%s", l.title, dir, t.about(at))
	}
	return t.evaluate(ctx, c, in, s, out)
}

// place is where the code of a call is evaluated, and what confines it there.
func (t *Tools) place(c *tool.Call, language string) (place, *sandbox.Spec) {
	at := place{agent: c.Agent, language: language}
	if t.opts.Box == nil {
		return at, nil
	}
	box := t.opts.Box(c.Confinement).Hiding(c.Hidden)
	if box != nil {
		at.confinement = c.Confinement
	}
	return at, box
}

// boundary is what a box leaves, so that two can be compared.
func boundary(box *sandbox.Spec) string {
	if box == nil {
		return ""
	}
	raw, err := json.Marshal(box)
	if err != nil {
		panic("a sandbox that cannot be encoded: " + err.Error()) // it is made of strings
	}
	return string(raw)
}

// about says what a new process cannot do, and what it does not know.
func (t *Tools) about(at place) string {
	text := ""
	switch at.confinement {
	case "":
	case tool.Held:
		text = " It cannot open or change the files that rules deny."
	case tool.ReadOnly:
		text = " It has no write access and no network."
	default:
		text = " It can only write in the project and reach the hosts that the settings allow."
	}
	if t.elsewhere(at) {
		text += " What was defined in the process with other rights is not available here."
	}
	return text
}

// elsewhere reports whether a process of the same agent and language runs in another
// confinement.
func (t *Tools) elsewhere(p place) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for other := range t.running {
		if other.agent == p.agent && other.language == p.language && other.confinement != p.confinement {
			return true
		}
	}
	return false
}

// evaluate sees one evaluation to its end. The caller has the turn.
func (t *Tools) evaluate(ctx context.Context, c *tool.Call, in Input, s *slot, out Output) (Output, error) {
	limit := time.Duration(in.Timeout) * time.Millisecond
	if limit <= 0 {
		limit = t.opts.Timeout
	}
	written := t.host.NewOutput()
	defer written.Close()
	e, err := s.process.begin(in.Code, written)
	if err != nil {
		s.end()
		return Output{}, tool.Errorf("The code was not evaluated: the %s process did not answer (%w). It was ended; call again to start a new one.", in.Language, err)
	}
	why := watch(ctx, c, s.process, e, limit)
	if why == stateTimedOut || why == stateInterrupted {
		out.State = why
		t.stop(&out, s, e, why, limit)
	}
	if s.process != nil && s.process.over() {
		code := s.process.proc.Status().Code
		out.ExitCode = &code
		out.note("The process exited with code %d: its state is lost. The next call starts a new one.", code)
		if why == "" {
			out.State = stateEnded
		}
		s.process = nil
	} else if why == "" {
		out.State = e.state
	}
	excerpt := written.Excerpt(t.opts.MaxOutput, false)
	out.Output = strings.TrimRight(excerpt.Text, "\n")
	if excerpt.Truncated {
		out.PersistedPath, out.PersistedSize = excerpt.Path, excerpt.Total.Bytes
	}
	if why == stateInterrupted { // the call has no outcome, but what was written is not lost
		return Output{}, tool.Errorf("%s", out.Render().Text())
	}
	return out, nil
}

// watch waits for the end of an evaluation and reports what it prints. It returns
// "" if it ended by itself or with its process, or else why it is not waited for.
func watch(ctx context.Context, c *tool.Call, p *interpreter, e *evaluation, limit time.Duration) string {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	var reported int64
	for {
		select {
		case <-e.done:
			return ""
		case <-p.gone:
			return ""
		case <-ctx.Done():
			return stateInterrupted
		case <-timer.C:
			return stateTimedOut
		case <-second.C:
			if size := e.output.Counts().Bytes; size != reported {
				reported = size
				last, _ := e.output.Since(size-maxProgress, maxProgress)
				c.Report(tool.EvalProgress{Output: shellrun.Clean(string(last))})
			}
		}
	}
}

// maxProgress is how much of the newest output a report has, in bytes.
const maxProgress = 2000

// stop interrupts an evaluation, and ends the process if that does not help.
func (t *Tools) stop(out *Output, s *slot, e *evaluation, why string, limit time.Duration) {
	what := "The evaluation was interrupted"
	if why == stateTimedOut {
		what = fmt.Sprintf("The evaluation did not finish within %v and was interrupted", limit)
	}
	grace := time.NewTimer(t.opts.Grace)
	defer grace.Stop()
	if s.process.interrupt(e) == nil {
		select {
		case <-e.done:
			out.note("%s. The state is kept, with what the code has done so far.", what)
			return
		case <-s.process.gone:
			out.note("%s.", what)
			return
		case <-grace.C:
		}
	}
	s.end()
	out.note("%s. The code kept running, so the process was ended with everything it started: its state is lost. The next call starts a new one.", what)
}

// end ends the process, if there is one, and waits for it. The caller has the turn.
func (s *slot) end() {
	if s.process != nil {
		s.process.end()
		s.process = nil
	}
}

// languageOf knows the languages of the schema.
func languageOf(name string) language {
	if name == "javascript" {
		return language{
			title: "Node.js", programs: []string{"node", "nodejs"}, args: []string{"-e"}, loop: javascriptLoop,
			install: "from https://nodejs.org or with the system's package manager (apt install nodejs, brew install node)",
		}
	}
	return language{
		title: "Python", programs: []string{"python3", "python"}, args: []string{"-u", "-c"}, loop: pythonLoop,
		install: "from https://www.python.org or with the system's package manager (apt install python3, brew install python)",
	}
}
