package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
)

// A start says how a run begins.
type start struct {
	id     string // of the session
	cwd    string
	resume bool
	submitted
}

// submitted is what a client gave the session when it began. The journal keeps it, so that the
// session has it whenever it is resumed here.
type submitted struct {
	Args []string `json:"args,omitempty"`
	// Unattended says that no one is asked.
	Unattended bool `json:"unattended,omitempty"`
	// Mode, Model and Title are those that it began with. It may have others by now.
	Mode  string `json:"mode,omitempty"`
	Model string `json:"model,omitempty"`
	Title string `json:"title,omitempty"`
}

// kept is what a journal says was submitted. What cannot be read might have been a restriction.
func (s *submitted) kept(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	err := json.Unmarshal(raw, s)
	if err == nil {
		s.Args, err = launch.Submitted(s.Args, false)
	}
	if err != nil {
		return &Problem{status: http.StatusConflict, Code: "unknown_flags", Message: fmt.Sprintf("Could not resume the session: it was started with flags that this version of haft does not accept (%v). Resume the session in a terminal.", err)}
	}
	return nil
}

// parse reads the flags, which cannot turn permissions off.
func (s *submitted) parse(version string, log io.Writer) (*headless.Options, error) {
	return launch.Program(append([]string{"--input-format=stream-json", "--output-format=stream-json"}, s.Args...), version, log)
}

// Narrowed are the options of a program that resumes a session which began with flags: those of
// the program, by which nothing that the flags deny or limit is lost.
func Narrowed(args []string, said *headless.Options, version string, log io.Writer) (*headless.Options, error) {
	args, err := launch.Submitted(args, false)
	if err != nil {
		return nil, err
	}
	return (&Options{Version: version}).program("", said, &submitted{Args: args}, log)
}

// options are those that the session begins with: what the owner of the server has chosen, made
// narrower by what was submitted.
func (b *start) options(o *Options) (*headless.Options, error) {
	opts := &headless.Options{Harness: o.Harness, Talk: o.Talk}
	if len(b.Args) > 0 {
		said, err := b.parse(o.Version, o.Log)
		if err != nil {
			return nil, err
		}
		if err := b.narrow(opts, said); err != nil {
			return nil, err
		}
	}
	opts.Harness.Dir, opts.Talk.Version = b.cwd, o.Version
	if b.resume {
		opts.Talk.ID, opts.Talk.Resume, opts.Harness.Mode = "", b.id, careful(opts.Harness.Mode, b.Mode)
	} else {
		opts.Talk.ID, opts.Harness.Mode = b.id, cmp.Or(b.Mode, opts.Harness.Mode)
		opts.Talk.Model, opts.Talk.Title = cmp.Or(b.Model, opts.Talk.Model), cmp.Or(b.Title, opts.Talk.Title)
	}
	if len(b.Args) > 0 || b.Unattended || b.Mode+b.Model+b.Title != "" {
		opts.Talk.States = map[string]any{timeline.StateSubmitted: b.submitted}
	}
	opts.AskHost, opts.Partial, opts.ToolProgress, opts.States, opts.Version, opts.Log = !b.Unattended, true, true, true, o.Version, o.Log
	return opts, nil
}

// narrow lays what was submitted over the owner's options. Nothing that the owner denies or
// limits is lost. The model, the title and the mode of a session that is resumed are in its
// journal.
func (b *start) narrow(opts, said *headless.Options) error {
	h, t := &opts.Harness, &opts.Talk
	if h.Agent != "" && (said.Harness.Agent != "" || said.Harness.Tools != nil) {
		return invalid("The sessions of this server run with the agent %q, which has its own tools: leave out --agent and --tools.", h.Agent)
	}
	h.Allowed, h.Disallowed = slices.Concat(h.Allowed, said.Harness.Allowed), slices.Concat(h.Disallowed, said.Harness.Disallowed)
	h.AddDirs, h.Agent = slices.Concat(h.AddDirs, said.Harness.AddDirs), cmp.Or(said.Harness.Agent, h.Agent)
	h.Tools = both(h.Tools, said.Harness.Tools)
	if said.NoCommands {
		opts.NoCommands, h.Skills = true, []string{}
	}
	if b.resume {
		h.Mode = careful(h.Mode, said.Harness.Mode)
	} else {
		h.Mode = cmp.Or(said.Harness.Mode, h.Mode)
		t.Model, t.Title = cmp.Or(said.Talk.Model, t.Model), cmp.Or(said.Talk.Title, t.Title)
	}
	narrowTalk(t, &said.Talk)
	opts.HookEvents, opts.AgentTexts, opts.Replay = said.HookEvents, said.AgentTexts, said.Replay
	return nil
}

// narrowTalk does so for the conversation.
func narrowTalk(t, said *harness.TalkOptions) {
	t.Fallback, t.Effort = cmp.Or(said.Fallback, t.Fallback), cmp.Or(said.Effort, t.Effort)
	t.Betas = slices.Concat(t.Betas, said.Betas)
	if said.System != nil {
		t.System = said.System
	}
	if said.Thinking != nil {
		t.Thinking = said.Thinking
	}
	if said.Schema != nil {
		t.Schema = said.Schema
	}
	t.AppendSystem = strings.TrimSpace(t.AppendSystem + "\n\n" + said.AppendSystem)
	t.MCP.Strict = t.MCP.Strict || said.MCP.Strict
	t.TaskBudget = least(t.TaskBudget, said.TaskBudget)
	t.Limits.Turns = least(t.Limits.Turns, said.Limits.Turns)
	t.Limits.BudgetUSD = least(t.Limits.BudgetUSD, said.Limits.BudgetUSD)
	t.Limits.Time = least(t.Limits.Time, said.Limits.Time)
}

// both are the tools that two lists have; nil is a list of all.
func both(owner, said []string) []string {
	switch {
	case owner == nil:
		return said
	case said == nil:
		return owner
	}
	return slices.DeleteFunc(slices.Clone(said), func(name string) bool { return !slices.Contains(owner, name) })
}

// careful is the mode that asks more, of the owner's and the one that a session began with; ""
// leaves it to the journal.
func careful(owner, said string) string {
	if modes := permission.Modes(); owner == "" || said == "" || slices.Index(modes, permission.Mode(owner)) <= slices.Index(modes, permission.Mode(said)) {
		return owner
	}
	return said
}

// least is the lower one of two limits, of which 0 is none.
func least[T int | float64 | ~int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
