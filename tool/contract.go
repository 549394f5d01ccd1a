package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

// A Contract says which parts of the contract of a tool there are, where the tool itself is in
// another process: in a program that drives haft, or in a command. The side that has the tool
// sends [ContractOf] it and answers questions with [Answer]; the side that calls it attaches
// the contract to a tool that only has a Run function.
type Contract struct {
	Marks      bool `json:"marks,omitempty"`
	Classify   bool `json:"classify,omitempty"`
	Paths      bool `json:"paths,omitempty"`
	Summarize  bool `json:"summarize,omitempty"`
	Validate   bool `json:"validate,omitempty"`
	Permission bool `json:"permission,omitempty"`
	Preview    bool `json:"preview,omitempty"`
	// Block lets a running call finish when the user interrupts.
	Block bool `json:"block,omitempty"`
	// MaxResult is the text limit of results; 0 means the usual one.
	MaxResult int `json:"maxResult,omitempty"`
	// SearchHint is what ToolSearch finds the tool by.
	SearchHint string `json:"searchHint,omitempty"`
}

// A ContractPart is a question about a call, which is answered before the call runs and changes
// nothing.
type ContractPart string

const (
	// FactsPart is answered by a [CallFacts].
	FactsPart ContractPart = "facts"
	// ValidatePart is answered by a [Problem], or null.
	ValidatePart ContractPart = "validate"
	// PermissionPart is answered by an [Opinion].
	PermissionPart ContractPart = "permission"
	// PreviewPart is answered by a [Foresight].
	PreviewPart ContractPart = "preview"
)

// CallFacts are what the input alone says about a call.
type CallFacts struct {
	Marks    Marks  `json:"marks"`
	Paths    Paths  `json:"paths"`
	Classify string `json:"classify,omitempty"`
	Summary  string `json:"summary,omitempty"`
}

// An Opinion is a tool's own view of a call, as a [Verdict].
type Opinion struct {
	Behavior string `json:"behavior,omitempty"` // allow, ask or deny; "" is none
	Message  string `json:"message,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Person reserves the answer to an ask for a user.
	Person bool `json:"person,omitempty"`
	// Rules are those that would together decide the next such call.
	Rules []string `json:"rules,omitempty"`
}

// A Foresight is the change that a call would make, or why it cannot be made. Neither means
// that the change is not known.
type Foresight struct {
	Preview *Preview `json:"preview,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// ContractOf says which parts of the contract a tool has.
func ContractOf(t *Tool) Contract {
	return Contract{
		Marks: t.Marks != nil, Classify: t.Classify != nil, Paths: t.Paths != nil, Summarize: t.Summarize != nil,
		Validate: t.Validate != nil, Permission: t.Permission != nil, Preview: t.Preview != nil,
		Block: t.OnInterrupt == InterruptBlock, MaxResult: t.MaxResult, SearchHint: t.SearchHint,
	}
}

// Answer answers a question about a call of t.
func Answer(ctx context.Context, t *Tool, part ContractPart, c *Call) (json.RawMessage, error) {
	switch {
	case part == FactsPart:
		f := CallFacts{Marks: t.MarksOf(c), Paths: t.PathsOf(c)}
		if t.Classify != nil {
			f.Classify = t.Classify(c)
		}
		if t.Summarize != nil {
			f.Summary = t.Summarize(c)
		}
		return json.Marshal(f)
	case part == ValidatePart && t.Validate != nil:
		return json.Marshal(t.Validate(ctx, c))
	case part == PermissionPart && t.Permission != nil:
		return json.Marshal(opinionOf(t.Permission(ctx, c)))
	case part == PreviewPart && t.Preview != nil:
		p, err := t.PreviewOf(ctx, c)
		if err != nil {
			return json.Marshal(Foresight{Error: err.Error()})
		}
		return json.Marshal(Foresight{Preview: p})
	}
	return nil, fmt.Errorf("the tool %s has no part %q", t.Name, part)
}

func opinionOf(v Verdict) Opinion {
	o := Opinion{Message: v.Message, Reason: v.Reason, Person: v.NeedsPerson}
	if v.Behavior != NoView {
		o.Behavior = v.Behavior.String()
	}
	for _, s := range v.Suggestions {
		o.Rules = append(o.Rules, s.Rule)
	}
	return o
}

// verdict is the opinion as a tool in this process gives it. A word that is not known is no
// reason to allow anything.
func (o Opinion) verdict() Verdict {
	v := Verdict{Message: o.Message, Reason: o.Reason, NeedsPerson: o.Person}
	switch o.Behavior {
	case "":
	case Allow.String():
		v.Behavior = Allow
	case Deny.String():
		v.Behavior = Deny
	default:
		v.Behavior = Ask
	}
	for _, rule := range o.Rules {
		v.Suggestions = append(v.Suggestions, Suggestion{Rule: rule, Behavior: Allow, Scope: "local"})
	}
	return v
}

// An AskFunc carries a question about a call to where the tool is.
type AskFunc func(ctx context.Context, part ContractPart, c *Call) (json.RawMessage, error)

// Attach gives t the functions of the contract, which ask. If a question is not answered, the
// call is denied: rules could not judge it.
func (k Contract) Attach(t *Tool, ask AskFunc) {
	r := &remote{name: t.Name, ask: ask}
	if k.Marks {
		t.Marks = func(c *Call) Marks { return r.facts(c).Marks }
	}
	if k.Classify {
		t.Classify = func(c *Call) string { return r.facts(c).Classify }
	}
	if k.Paths {
		t.Paths = func(c *Call) Paths { return r.facts(c).Paths }
	}
	if k.Summarize {
		t.Summarize = func(c *Call) string { return r.facts(c).Summary }
	}
	if k.Validate {
		t.Validate = r.validate
	}
	if k.Preview {
		t.Preview = r.preview
	}
	if k.Marks || k.Classify || k.Paths || k.Permission {
		t.Permission = r.permission(k, t.Permission)
	}
	if k.Block {
		t.OnInterrupt = InterruptBlock
	}
	if k.MaxResult > 0 {
		t.MaxResult = k.MaxResult
	}
	if k.SearchHint != "" {
		t.SearchHint = k.SearchHint
	}
}

// factsPatience is how long the facts of a call are waited for: the whole batch waits with it.
const factsPatience = 5 * time.Second

// maxFacts is how many calls' facts are kept. They are asked for several times on the way of a
// call, and depend on nothing but its input.
const maxFacts = 64

// A remote asks about the calls of one tool.
type remote struct {
	name string
	ask  AskFunc

	mu    sync.Mutex
	known map[[sha256.Size]byte]CallFacts
}

// facts are zero if there was no answer: what is not known is taken for the worst.
func (r *remote) facts(c *Call) CallFacts {
	ctx, cancel := context.WithTimeout(context.Background(), factsPatience)
	defer cancel()
	f, _ := r.learn(ctx, c) // permission denies the call
	return f
}

func (r *remote) learn(ctx context.Context, c *Call) (CallFacts, error) {
	key := sha256.Sum256(append(append([]byte(c.Dir), 0), c.Input...))
	r.mu.Lock()
	f, ok := r.known[key]
	r.mu.Unlock()
	if ok {
		return f, nil
	}
	if err := r.question(ctx, FactsPart, c, &f); err != nil {
		return CallFacts{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxFacts {
		r.known = make(map[[sha256.Size]byte]CallFacts)
	}
	r.known[key] = f
	return f, nil
}

// question asks and decodes the answer.
func (r *remote) question(ctx context.Context, part ContractPart, c *Call, answer any) error {
	raw, err := r.ask(ctx, part, c)
	if err == nil {
		err = json.Unmarshal(raw, answer)
	}
	if err != nil {
		return fmt.Errorf("%s could not be asked about the call (%s): %w", r.name, part, err)
	}
	return nil
}

func (r *remote) validate(ctx context.Context, c *Call) *Problem {
	var p *Problem
	if err := r.question(ctx, ValidatePart, c, &p); err != nil {
		return &Problem{Message: err.Error()}
	}
	return p
}

func (r *remote) preview(ctx context.Context, c *Call) (*Preview, error) {
	var f Foresight
	if err := r.question(ctx, PreviewPart, c, &f); err != nil {
		return nil, err
	}
	if f.Error != "" {
		return nil, errors.New(f.Error)
	}
	if f.Preview != nil {
		for _, file := range f.Preview.Files {
			complete(file.Before)
			complete(file.After)
		}
	}
	return f.Preview, nil
}

// complete adds what follows from the content of a file, for a program that only sends that.
func complete(v *Version) {
	if v == nil || v.Digest != "" {
		return
	}
	text := v.Text
	if text == nil && utf8.Valid(v.Raw) {
		text = v.Raw
	}
	*v = *NewVersion(v.Mode, v.Raw, text)
}

// permission asks for the tool's own view, after the one that it had before.
func (r *remote) permission(k Contract, before func(context.Context, *Call) Verdict) func(context.Context, *Call) Verdict {
	return func(ctx context.Context, c *Call) Verdict {
		if before != nil {
			if v := before(ctx, c); v.Behavior != NoView {
				return v
			}
		}
		var err error
		if k.Marks || k.Paths || k.Classify {
			_, err = r.learn(ctx, c)
		}
		var o Opinion
		if err == nil && k.Permission {
			err = r.question(ctx, PermissionPart, c, &o)
		}
		if err != nil {
			return Verdict{Behavior: Deny, Reason: "it is not known what the call would do", Message: "Not run: " + err.Error()}
		}
		return o.verdict()
	}
}

// Serve makes this process the command of a tool in .haft/tools. It reads the input of a call,
// runs the call or answers a question about it, and returns the exit code. The streams are the
// standard ones.
func Serve(ctx context.Context, t Tool, in io.Reader, out, errs io.Writer) (exitCode int) {
	text, err := serve(ctx, &t, in, errs)
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, t *Tool, in io.Reader, errs io.Writer) (string, error) {
	input, err := io.ReadAll(in)
	if err != nil {
		return "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if input, _, err = t.Input.View(nil).Check(input); err != nil {
		return "", err
	}
	c := &Call{Tool: t.Name, Input: input, Dir: dir, Approved: os.Getenv("HAFT_TOOL_APPROVED"), Progress: func(p Progress) {
		fmt.Fprintln(errs, ProgressLine(p))
	}}
	if part := os.Getenv("HAFT_TOOL_PART"); part != "run" {
		answer, err := Answer(ctx, t, ContractPart(part), c)
		return string(answer), err
	}
	r, err := t.Run(ctx, c)
	if err == nil && r.Failed {
		err = errors.New(r.Text())
	}
	return r.Text(), err
}
