package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool/schema"
)

// A Tool is one thing that a model can do. This is the raw form, for tools whose shape is
// known only at run time, such as those of an MCP server; [New] builds it from typed
// functions. What a nil function means is in its comment; it is always the careful choice.
type Tool struct {
	// Name is what the model calls. Aliases are older names that keep working.
	Name    string
	Aliases []string
	// SearchHint is a phrase of words that ToolSearch finds the tool by.
	SearchHint string
	// Title is the name shown to people; "" means Name.
	Title string
	// Describe returns what the model reads about the tool.
	Describe func(*Session) string
	// Prompt returns guidance for the system prompt; nil means none.
	Prompt func(*Session) string

	// Input is the shape of the input. Output is the shape of the typed output; nil means
	// that it is not described.
	Input  *schema.Schema
	Output *schema.Schema

	// Enabled reports whether the session has the tool; nil means always.
	Enabled func(*Session) bool
	// Needs tells the model what a session without the tool lacks, and who can change that;
	// "" says nothing in particular.
	Needs string
	// Marks says how the call behaves; nil means the zero Marks.
	Marks func(*Call) Marks
	// Validate checks the meaning of an input of the right shape, such as that a file
	// exists; nil means that nothing is checked. It changes nothing.
	Validate func(context.Context, *Call) *Problem
	// Permission is the tool's own view of whether the call may run; nil means none. The
	// rules have the last word. It changes nothing.
	Permission func(context.Context, *Call) Verdict
	// Classify returns what an automatic classifier sees of the call; nil and "" mean that
	// the call is never approved automatically.
	Classify func(*Call) string
	// Paths returns what the call reads and writes. Rules about files judge it by this,
	// checkpoints keep these files, and hooks get them; nil means that it is not known. It
	// looks only at the input.
	Paths func(*Call) Paths
	// Preview returns everything that the call would change in files if it ran now,
	// computed by the code with which Run makes the change; nil means that it is not known
	// before it runs. It changes nothing. A nil result without an error means that it is
	// not known for this call; an error says why the change cannot be made. This change is
	// what a user approves: if it is different by the time the call runs, the user is asked
	// again. See [Call.Approve].
	Preview func(context.Context, *Call) (*Preview, error)
	// Command returns the shell command that the call would run; rules about commands judge
	// it by this. WithCommand returns the input of the same call with another command. Nil
	// means that it runs none.
	Command     func(*Call) string
	WithCommand func(c *Call, command string) json.RawMessage
	// Analyze returns what the command would do in the call's directory, in a form that the
	// rules about commands know; nil, or a nil result, leaves that to the rules. Before are
	// the facts of the input that this one replaces, or nil.
	Analyze func(c *Call, before *Facts) any
	// Address returns the URL that the call would fetch; rules about domains judge it by
	// this. Nil means that it fetches none.
	Address func(*Call) string
	// Run does the work.
	Run func(context.Context, *Call) (Result, error)

	// Summarize returns one line about the call for users; nil means the title alone.
	Summarize func(*Call) string
	// SummarizeResult returns one line about a result for users; nil means its first line.
	SummarizeResult func(Result) string

	// MaxResult is how many characters of text a result may have; a longer one goes to a
	// file. 0 means [DefaultMaxResult].
	MaxResult int
	// OnInterrupt says what a user's interrupt does to a running call.
	OnInterrupt Interrupt
	// StopsSiblings marks a tool, such as a shell, whose failure makes the calls queued
	// behind it pointless, under the policy that cancels them.
	StopsSiblings bool
	// Deferred keeps the tool's description from the model until ToolSearch finds it.
	Deferred bool
	// Source says where the tool comes from: "" is built in, otherwise "mcp:" and the
	// server's name, or what an embedder chooses.
	Source string
	// Meta is for the harness and front ends; it never reaches the model.
	Meta map[string]any
}

// DefaultMaxResult is the text limit of a tool that sets none, in characters.
const DefaultMaxResult = 50_000

// Interrupt is what a user's interrupt does to a running call.
type Interrupt int

const (
	// InterruptCancel ends the call's context.
	InterruptCancel Interrupt = iota
	// InterruptBlock lets the call finish, because it is short or because half of it would
	// do harm.
	InterruptBlock
)

// Marks say how a call with a given input behaves. The zero value is the careful one: the
// call runs alone, counts as writing, and is not repeated after a crash.
type Marks struct {
	// ReadOnly calls change nothing that a user would mind.
	ReadOnly bool `json:"readOnly,omitempty"`
	// ConcurrencySafe calls may run at the same time as other such calls.
	ConcurrencySafe bool `json:"concurrencySafe,omitempty"`
	// Destructive calls lose something that cannot be restored.
	Destructive bool `json:"destructive,omitempty"`
	// Polling calls are meant to be repeated: the loop breaker ignores them.
	Polling bool `json:"polling,omitempty"`
	// Effect says what a second run of the same call would do.
	Effect Effect `json:"effect,omitempty"`
}

// Effect is what repeating a call would do, for a harness that lost its result.
type Effect int

const (
	// Unsafe to repeat: the outcome of a lost call is unknown.
	Unsafe Effect = iota
	// Keyed calls carry a key by which the receiver drops a repetition.
	Keyed
	// Idempotent calls have the same effect when repeated.
	Idempotent
	// Pure calls have no effect.
	Pure
)

// A Problem is what a tool finds wrong with the meaning of an input.
type Problem struct {
	// Message tells the model what is wrong and what to do instead.
	Message string `json:"message"`
	// Code is for programs; its meanings belong to the tool.
	Code int `json:"code,omitempty"`
}

// Check reports what is wrong with the tool itself, whatever its input.
func (t *Tool) Check() error {
	err := t.checkCallable()
	if t.Output == nil {
		return err
	}
	if bad := t.Output.Err(); bad != nil {
		return errors.Join(err, fmt.Errorf("output schema: %w", bad))
	}
	return err
}

// checkCallable is Check without the output's schema, which takes time to derive and which
// calls do not need.
func (t *Tool) checkCallable() error {
	var errs []error
	for _, name := range append([]string{t.Name}, t.Aliases...) {
		if !validName(name) {
			errs = append(errs, fmt.Errorf("name %q: use 1 to 128 letters, digits, _ and -", name))
		}
	}
	if t.Describe == nil {
		errs = append(errs, errors.New("no description"))
	}
	if t.Run == nil {
		errs = append(errs, errors.New("no Run function"))
	}
	if t.Input == nil {
		errs = append(errs, errors.New("no input schema"))
	} else if err := t.Input.Err(); err != nil {
		errs = append(errs, fmt.Errorf("input schema: %w", err))
	}
	if t.MaxResult < 0 {
		errs = append(errs, fmt.Errorf("MaxResult %d is negative", t.MaxResult))
	}
	return errors.Join(errs...)
}

// validName reports whether providers accept the name of a tool.
func validName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return len(name) >= 1 && len(name) <= 128 && strings.Trim(name, letters) == ""
}

// UserName returns the name to show to people.
func (t *Tool) UserName() string {
	if t.Title != "" {
		return t.Title
	}
	return t.Name
}

// ResultLimit returns the text limit of the tool's results, in characters.
func (t *Tool) ResultLimit() int {
	if t.MaxResult == 0 {
		return DefaultMaxResult
	}
	return t.MaxResult
}

// origin says who offers a tool, for users and models.
func (t *Tool) origin() string {
	if server, ok := strings.CutPrefix(t.Source, "mcp:"); ok {
		return "the MCP server " + server
	}
	return t.Source
}

// OnlyFiles reports whether [Paths] are everything that the call is about: it only reads,
// or its preview shows everything that it changes. Then a rule about files can allow it;
// for any other call, such a rule says too little.
func (t *Tool) OnlyFiles(c *Call) bool {
	return t != nil && t.Paths != nil && (t.Preview != nil || t.MarksOf(c).ReadOnly)
}

// PreviewOf returns what the call would change now. It returns nil without an error for a
// tool that does not say, or for a call whose effect is not known before it runs. A panic
// becomes an error.
func (t *Tool) PreviewOf(ctx context.Context, c *Call) (p *Preview, err error) {
	if t == nil || t.Preview == nil {
		return nil, nil
	}
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("%s crashed: %v", t.Name, r)
		}
	}()
	return t.Preview(ctx, c)
}

// Find looks for the facts of a call. Before are those of the input that this one replaces;
// nil if there was none.
func (t *Tool) Find(c *Call, before *Facts) *Facts {
	f := &Facts{Dir: c.Dir}
	if t == nil {
		return f
	}
	if t.Analyze != nil {
		f.Analysis = t.Analyze(c, before)
		at := *c
		at.Facts = f // so that the rest follows from the analysis
		c = &at
	}
	f.Marks, f.Paths = t.marks(c), t.paths(c)
	if t.Command != nil {
		f.Command = t.Command(c)
	}
	if t.Address != nil {
		f.Address = t.Address(c)
	}
	if t.Classify != nil {
		f.Classifier = t.Classify(c)
	}
	return f
}

// FactsOf returns the facts of a call, which are found now if nobody has yet.
func (t *Tool) FactsOf(c *Call) *Facts {
	if c.Facts != nil {
		return c.Facts
	}
	return t.Find(c, nil)
}

// MarksOf returns how the call behaves, assuming the worst where the tool does not say.
func (t *Tool) MarksOf(c *Call) Marks {
	if c != nil && c.Facts != nil {
		return c.Facts.Marks
	}
	return t.marks(c)
}

func (t *Tool) marks(c *Call) Marks {
	if t == nil || t.Marks == nil {
		return Marks{}
	}
	return t.Marks(c)
}

// PathsOf returns what the call would touch; nothing if the tool does not say.
func (t *Tool) PathsOf(c *Call) Paths {
	if c.Facts != nil {
		return c.Facts.Paths
	}
	return t.paths(c)
}

func (t *Tool) paths(c *Call) Paths {
	if t == nil || t.Paths == nil {
		return Paths{}
	}
	return t.Paths(c)
}

// always reports whether the tool is loaded regardless of its size.
func (t *Tool) always() bool {
	v, _ := t.Meta[AlwaysLoad].(bool)
	return v
}
