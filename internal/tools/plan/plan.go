// Package plan provides the tools EnterPlanMode and ExitPlanMode, which enter and leave plan
// mode.
//
//	tools := plan.New(&plan.Options{Mode: mode})
//
// The tools decide nothing. The user's agreement is the tools' permission, which only a user
// can give; the result then changes the mode. Verdicts, not these tools, prevent writing in
// plan mode; see package permission.
//
// Trust: they change nothing and read only the plan file, if the call contains no plan. The
// plan is the model's, or the user's if they edited it. The user approves the plan as it was
// read when they were asked: the file is not read again.
package plan

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/tool"
)

var (
	//go:embed enter.md
	enterText string
	//go:embed exit.md
	exitText string
)

// The permission modes that the tools know, as package permission spells them.
const (
	planMode    = "plan"
	defaultMode = "default"
)

// maxPlan is how long a plan may be, in bytes.
const maxPlan = 100_000

// Options configure the tools. A nil *Options means all zero values.
type Options struct {
	// Mode returns the current permission mode; nil means the mode of the call's session.
	Mode func() string
	// Agreed is told each plan that a user has agreed to; nil tells nobody.
	Agreed func(plan string)
	// File returns the path of the file that the model may write its plan to, or ""; nil means
	// that there is none.
	File func() string
}

// planner is what the two tools share.
type planner struct {
	opts Options

	mu     sync.Mutex
	before string // the mode to go back to
}

// New returns the tools.
func New(opts *Options) []tool.Tool {
	p := new(planner)
	if opts != nil {
		p.opts = *opts
	}
	return []tool.Tool{p.enter(), p.exit()}
}

// mode returns the mode in which a call finds the session.
func (p *planner) mode(c *tool.Call) string {
	switch {
	case p.opts.Mode != nil:
		return cmp.Or(p.opts.Mode(), defaultMode)
	case c.Session != nil:
		return cmp.Or(c.Session.Mode, defaultMode)
	}
	return defaultMode
}

func interactive(s *tool.Session) bool { return s != nil && s.Interactive }

// check finds what keeps a call from making sense, whatever the user would say.
func (p *planner) check(c *tool.Call, inPlan bool) *tool.Problem {
	switch {
	case c.Agent != "":
		return &tool.Problem{Message: "Only the main conversation can use plan mode. Return what you found or planned as your result instead."}
	case !interactive(c.Session):
		return &tool.Problem{Message: "No one in this session can approve a plan. Write the plan as your answer, and change nothing that you were not told to change."}
	case inPlan && p.mode(c) != planMode:
		return &tool.Problem{Message: "The session is not in plan mode, so there is nothing to leave. Continue with the work."}
	case !inPlan && p.mode(c) == planMode:
		return &tool.Problem{Message: "The session is already in plan mode. Continue with the plan, and show it with ExitPlanMode."}
	}
	return nil
}

// marks are those of both: neither writes anything.
func marks[In any](In) tool.Marks { return tool.Marks{ReadOnly: true, Effect: tool.Idempotent} }

// enterInput is what the model sends to EnterPlanMode.
type enterInput struct{}

// enterOutput is what programs get from EnterPlanMode.
type enterOutput struct {
	Message string `json:"message"`
}

func (p *planner) enter() tool.Tool {
	return tool.New(tool.Def[enterInput, enterOutput]{
		Name: "EnterPlanMode", SearchHint: "plan mode think design before changes approach", Description: enterText,
		Enabled:  interactive,
		Needs:    "there is no user to answer",
		Marks:    marks[enterInput],
		Validate: func(_ context.Context, c *tool.Call, _ enterInput) *tool.Problem { return p.check(c, false) },
		Permission: func(context.Context, *tool.Call, enterInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Reason: "the user decides when to plan", Message: "Plan first? Nothing is changed until you approve the plan."}
		},
		Run: func(_ context.Context, c *tool.Call, _ enterInput) (enterOutput, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if m := p.mode(c); m != planMode {
				p.before = m
			}
			return enterOutput{"You are in plan mode: nothing can be changed. Read and search until you know what to do, ask about anything that is unclear, then show the plan with ExitPlanMode."}, nil
		},
		Render: func(out enterOutput) tool.Result {
			r := tool.Text(out.Message)
			r.Change = &tool.Change{Mode: planMode}
			return r
		},
		Deferred: true,
	})
}

// exitInput is what the model sends to ExitPlanMode.
type exitInput struct {
	Plan string `json:"plan,omitempty" jsonschema:"The plan, as Markdown. Leave it out if you wrote the plan to its file." haft:"max=100000;example=1. Add a test that fails. 2. Fix the parser."`

	AllowedPrompts []any `json:"allowedPrompts,omitempty" haft:"ignored"` // rules are the user's to give
}

// Text returns the plan in a call of ExitPlanMode, for front ends; "" if there is none.
func Text(c *tool.Call) string {
	var in exitInput
	_ = json.Unmarshal(c.Input, &in) // one that cannot be read has no plan
	return in.Plan
}

// ExitOutput is what programs get from ExitPlanMode.
type ExitOutput struct {
	Plan    string `json:"plan"`
	IsAgent bool   `json:"isAgent"`
	File    string `json:"filePath,omitempty"`      // that holds the same plan
	Changed bool   `json:"planWasEdited,omitempty"` // the user changed the plan
	Mode    string `json:"mode,omitempty"`          // to continue with; "" if the user chose one
}

func (p *planner) exit() tool.Tool {
	return tool.New(tool.Def[exitInput, ExitOutput]{
		Name: "ExitPlanMode", Title: "Plan", SearchHint: "present plan approve leave plan mode begin start work", Description: exitText,
		Enabled: interactive,
		Needs:   "there is no user to answer",
		Marks:   marks[exitInput],
		Validate: func(_ context.Context, c *tool.Call, in exitInput) *tool.Problem {
			if problem := p.check(c, true); problem != nil || in.Plan != "" {
				return problem
			}
			_, problem := p.written()
			return problem
		},
		Permission: p.permission,
		Run: func(_ context.Context, c *tool.Call, in exitInput) (ExitOutput, error) {
			out := ExitOutput{Plan: in.Plan, Changed: c.Answered}
			if plan, problem := p.written(); problem == nil && plan == in.Plan {
				out.File = p.opts.File()
			}
			if p.opts.Agreed != nil {
				p.opts.Agreed(in.Plan)
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.mode(c) == planMode { // the user may have chosen another mode when agreeing
				out.Mode = cmp.Or(p.before, defaultMode)
			}
			return out, nil
		},
		Render: renderExit,

		SummarizeResult: func(ExitOutput) string { return "approved" },
		Deferred:        true,
	})
}

// permission leaves the plan to the user. One that was written to its file becomes the
// call's own, so that every front end shows it and it stays as it was approved.
func (p *planner) permission(_ context.Context, _ *tool.Call, in exitInput) tool.Verdict {
	v := tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Reason: "the user approves a plan", Message: in.Plan}
	if in.Plan != "" {
		return v
	}
	plan, problem := p.written()
	if problem != nil { // it was there a moment ago
		return tool.Verdict{Behavior: tool.Deny, Reason: problem.Message, Message: problem.Message}
	}
	raw, err := json.Marshal(exitInput{Plan: plan})
	if err != nil {
		return tool.Verdict{Behavior: tool.Deny, Reason: "the plan cannot be encoded: " + err.Error()}
	}
	v.Message, v.Input = plan, raw
	return v
}

// written reads the plan from its file.
func (p *planner) written() (string, *tool.Problem) {
	path := ""
	if p.opts.File != nil {
		path = p.opts.File()
	}
	if path == "" {
		return "", &tool.Problem{Message: `There is no plan to show: send it as "plan".`}
	}
	raw, err := regular.Read(path, maxPlan)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", &tool.Problem{Message: fmt.Sprintf(`Could not %v. Shorten the plan, or send it as "plan".`, err)}
	}
	plan := strings.ToValidUTF8(string(raw), "\uFFFD")
	if strings.TrimSpace(plan) == "" {
		return "", &tool.Problem{Message: fmt.Sprintf(`There is no plan to show: send it as "plan", or write it to %s first.`, path)}
	}
	return plan, nil
}

func renderExit(out ExitOutput) tool.Result {
	text := "The user approved the plan. Begin, and keep a todo list if it has several steps."
	if out.Changed {
		text = "The user approved this plan, which may differ from yours:\n\n" + out.Plan + "\n\nBegin, and keep a todo list if it has several steps."
	}
	r := tool.Text(text)
	if out.Mode != "" {
		r.Change = &tool.Change{Mode: out.Mode}
	}
	return r
}
