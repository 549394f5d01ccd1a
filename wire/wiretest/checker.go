package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/wire"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A Checker checks the lines of one conversation. Give it those of both
// directions and it checks the answers to control requests, too.
type Checker struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	asked    map[string]string // request id → name of its answer's type
}

const url = "urn:haft:stream-json"

// NewChecker returns a Checker for a new conversation.
func NewChecker() *Checker {
	c := &Checker{compiler: jsonschema.NewCompiler(), asked: map[string]string{}}
	raw, err := json.Marshal(Schema(nil))
	if err != nil {
		panic(err) // the types are wrong, not the lines
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	if err := c.compiler.AddResource(url, doc); err != nil {
		panic(err)
	}
	return c
}

// Line returns what is wrong with a line that we wrote: it is not a message, does
// not fit the schema, or has fields that the schema does not know.
func (c *Checker) Line(line []byte) error { return c.check(line, true) }

// Foreign is Line for a program of others, whose newer types and fields are no
// errors.
func (c *Checker) Foreign(line []byte) error { return c.check(line, false) }

func (c *Checker) check(line []byte, ours bool) error {
	m, err := wire.Decode(line)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, line)
	}
	if err := c.message(m, line, ours); err != nil {
		return fmt.Errorf("%v: %w\n%s", m.Tag(), err, line)
	}
	return nil
}

func (c *Checker) message(m wire.Message, line []byte, ours bool) error {
	switch m := m.(type) {
	case *wire.Unknown:
		if ours {
			return fmt.Errorf("the schema has no such type")
		}
		return nil
	case *wire.ControlRequest:
		return c.request(m, line, ours)
	case *wire.ControlResponse:
		if err := c.fits("ControlResponse", line); err != nil {
			return err
		}
		return c.answer(m.Response)
	}
	if err := c.fits(reflect.TypeOf(m).Elem().Name(), line); err != nil {
		return err
	}
	return noExtra(m, ours)
}

func (c *Checker) request(m *wire.ControlRequest, line []byte, ours bool) error {
	u, unknown := m.Request.(*wire.UnknownRequest)
	if unknown && (ours || u.Err != nil) {
		return fmt.Errorf("the schema has no such request: %s %w", u.Name, u.Err)
	}
	if unknown {
		return nil
	}
	for _, k := range wire.Requests() {
		if k.Subtype == m.Request.Subtype() && k.Reply != nil {
			c.mu.Lock()
			c.asked[m.RequestID] = reflect.TypeOf(k.Reply).Name()
			c.mu.Unlock()
		}
	}
	var envelope struct{ Request json.RawMessage }
	if err := json.Unmarshal(line, &envelope); err != nil {
		return err
	}
	if err := c.fits(reflect.TypeOf(m.Request).Elem().Name(), envelope.Request); err != nil {
		return err
	}
	return noExtra(m, ours)
}

// answer checks the answer to a request that was seen before.
func (c *Checker) answer(r wire.Response) error {
	c.mu.Lock()
	name, known := c.asked[r.RequestID]
	delete(c.asked, r.RequestID)
	c.mu.Unlock()
	if !known || r.Subtype != "success" || len(r.Response) == 0 {
		return nil
	}
	return c.fits(name, r.Response)
}

// fits checks a value against a definition.
func (c *Checker) fits(name string, raw []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.compiler.Compile(url + "#/$defs/" + name)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// noExtra finds fields that the types do not have.
func noExtra(m wire.Message, ours bool) error {
	if !ours {
		return nil
	}
	if names := Extra(m); len(names) > 0 {
		return fmt.Errorf("the schema has no %s", strings.Join(names, ", "))
	}
	return nil
}

// Extra returns the names of the fields of a message, and of a control request's
// request, that package wire does not know.
func Extra(m wire.Message) []string {
	extra := reflect.ValueOf(m).Elem().FieldByName("Extra").Interface().(map[string]json.RawMessage)
	names := slices.Sorted(maps.Keys(extra))
	if r, ok := m.(*wire.ControlRequest); ok {
		inner := reflect.ValueOf(r.Request).Elem().FieldByName("Extra").Interface().(map[string]json.RawMessage)
		for _, name := range slices.Sorted(maps.Keys(inner)) {
			names = append(names, "request."+name)
		}
	}
	return names
}
