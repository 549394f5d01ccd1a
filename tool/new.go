package tool

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool/schema"
)

// A Def is a [Tool] in typed form: the schema comes from In, which must be a struct, and
// every function gets the decoded input. Fields that have the name of a Tool's field mean
// the same.
type Def[In, Out any] struct {
	Name       string
	Aliases    []string
	SearchHint string
	Title      string
	// Description is what the model reads, unless Describe is set.
	Description string
	Describe    func(*Session) string
	Prompt      func(*Session) string

	Enabled    func(*Session) bool
	Needs      string
	Marks      func(In) Marks
	Validate   func(context.Context, *Call, In) *Problem
	Permission func(context.Context, *Call, In) Verdict
	Classify   func(In) string

	Paths   func(*Call, In) Paths
	Preview func(context.Context, *Call, In) (*Preview, error)
	// Command returns the field of the input that holds the shell command.
	Command func(*In) *string
	Address func(In) string
	Analyze func(c *Call, in In, before *Facts) any

	// Run does the work and returns what it found or did.
	Run func(context.Context, *Call, In) (Out, error)
	// Render turns an output into what the model reads. It is pure, so that an output
	// changed by a hook can be rendered again. Nil means the output's JSON, or the output
	// itself if it is a string.
	Render func(Out) Result

	Summarize       func(In) string
	SummarizeResult func(Out) string

	MaxResult     int
	OnInterrupt   Interrupt
	StopsSiblings bool
	Deferred      bool
	Source        string
	Meta          map[string]any
}

// New builds a [Tool] from its typed form. Nothing is derived or checked until
// the tool is put into a [Set].
func New[In, Out any](d Def[In, Out]) Tool {
	t := Tool{
		Name: d.Name, Aliases: d.Aliases, SearchHint: d.SearchHint, Title: d.Title,
		Describe: d.Describe, Prompt: d.Prompt, Enabled: d.Enabled, Needs: d.Needs,
		Input: schema.Of[In](), Output: outputSchema[Out](),
		MaxResult: d.MaxResult, OnInterrupt: d.OnInterrupt, StopsSiblings: d.StopsSiblings,
		Deferred: d.Deferred, Source: d.Source, Meta: d.Meta,
	}
	if t.Describe == nil && d.Description != "" {
		t.Describe = func(*Session) string { return d.Description }
	}
	if d.Marks != nil {
		t.Marks = func(c *Call) Marks { return d.Marks(readable[In](c)) }
	}
	if d.Validate != nil {
		t.Validate = func(ctx context.Context, c *Call) *Problem { return d.Validate(ctx, c, input[In](c)) }
	}
	if d.Permission != nil {
		t.Permission = func(ctx context.Context, c *Call) Verdict { return d.Permission(ctx, c, input[In](c)) }
	}
	if d.Classify != nil {
		t.Classify = func(c *Call) string { return d.Classify(readable[In](c)) }
	}
	touches(&t, &d)
	if d.Summarize != nil {
		t.Summarize = func(c *Call) string { return oneLine(d.Summarize(input[In](c))) }
	}
	if d.SummarizeResult != nil {
		t.SummarizeResult = func(r Result) string { return summary(d.SummarizeResult, r) }
	}
	if d.Run != nil {
		t.Run = func(ctx context.Context, c *Call) (Result, error) { return run(ctx, c, &d) }
	}
	return t
}

// touches fills in the functions that say which files, commands and addresses a call is
// about. Rules also ask about inputs that never run and were not checked; for those, the
// fields that can be decoded are used.
func touches[In, Out any](t *Tool, d *Def[In, Out]) {
	if d.Paths != nil {
		t.Paths = func(c *Call) Paths { return d.Paths(c, readable[In](c)) }
	}
	if d.Preview != nil {
		t.Preview = func(ctx context.Context, c *Call) (*Preview, error) { return d.Preview(ctx, c, input[In](c)) }
	}
	if d.Address != nil {
		t.Address = func(c *Call) string { return d.Address(readable[In](c)) }
	}
	if d.Command == nil {
		return
	}
	if d.Analyze != nil {
		t.Analyze = func(c *Call, before *Facts) any { return d.Analyze(c, readable[In](c), before) }
	}
	t.Command = func(c *Call) string {
		in := readable[In](c)
		return *d.Command(&in)
	}
	t.WithCommand = func(c *Call, command string) json.RawMessage {
		in := readable[In](c)
		*d.Command(&in) = command
		raw, err := plainjson.Marshal(in)
		if err != nil {
			panic("input that was decoded does not encode: " + err.Error())
		}
		return raw
	}
}

// readable returns what can be read of an input, checked or not.
func readable[In any](c *Call) In {
	in, _ := decode[In](c)
	return in
}

func run[In, Out any](ctx context.Context, c *Call, d *Def[In, Out]) (Result, error) {
	out, err := d.Run(ctx, c, input[In](c))
	if err != nil {
		return Result{}, err
	}
	var r Result
	if d.Render != nil {
		r = d.Render(out)
	} else {
		r = renderJSON(out)
	}
	r.Output = out
	return r, nil
}

// input returns an input that was checked against the schema of In. A failure is therefore a
// mistake in a Union's own UnmarshalJSON.
func input[In any](c *Call) In {
	in, err := decode[In](c)
	if err != nil {
		panic("input of the right shape does not decode: " + err.Error())
	}
	return in
}

// decode returns the call's input decoded, once per input.
func decode[In any](c *Call) (In, error) {
	d := c.decoded
	if d == nil {
		var in In
		err := json.Unmarshal(c.Input, &in)
		return in, err
	}
	d.once.Do(func() {
		var in In
		d.err = json.Unmarshal(c.Input, &in)
		d.value = in
	})
	return d.value.(In), d.err
}

// outputSchema describes Out if it has a shape worth describing.
func outputSchema[Out any]() *schema.Schema {
	if reflect.TypeFor[Out]().Kind() != reflect.Struct {
		return nil
	}
	return schema.OfOutput[Out]()
}

// summary is about an output as the tool returned it, or as it is in a journal.
func summary[Out any](f func(Out) string, r Result) string {
	out, ok := r.Output.(Out)
	if raw, kept := r.Output.(json.RawMessage); kept && !ok {
		ok = json.Unmarshal(raw, &out) == nil
	}
	if !ok {
		return ""
	}
	return oneLine(f(out))
}

// oneLine makes room for any text where front ends have one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func renderJSON(out any) Result {
	if s, ok := out.(string); ok {
		return Text(s)
	}
	b, err := json.Marshal(out)
	if err != nil {
		return Failure("the tool's output cannot be encoded: " + err.Error())
	}
	return Text(string(b))
}
