package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plainjson"
)

// decode reads numbers as they are written, so that none is rounded on its way.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

func marshal(v any) json.RawMessage {
	raw, err := plainjson.Marshal(v)
	if err != nil {
		panic("schema: encode decoded JSON: " + err.Error()) // decoded JSON encodes
	}
	return raw
}

// A checker walks a value with its node and collects what it finds.
type checker struct {
	problems []Problem
	repairs  []Repair
	strict   bool // no repairs: used to try the forms of a union
}

func (c *checker) fail(path string, n *node, v any) {
	p := Problem{Path: path, Expected: n.expected(), Got: show(v)}
	if num, ok := v.(json.Number); ok {
		if _, err := strconv.ParseFloat(num.String(), 64); err != nil {
			p.Got += ", which no number type can represent"
		}
	}
	c.problems = append(c.problems, p)
}

// check returns v, repaired where needed and licensed.
func (c *checker) check(n *node, v any, path string) any {
	if len(n.anyOf) > 0 {
		return c.checkUnion(n, v, path)
	}
	kind := kindOf(v)
	if !n.kinds.has(kind) {
		return c.repair(n, v, path)
	}
	if len(n.enum) > 0 && !n.allows(v) {
		return c.repair(n, v, path)
	}
	switch v := v.(type) {
	case json.Number:
		return c.checkNumber(n, v, path)
	case string:
		if l := utf8.RuneCountInString(v); l < n.minLen || n.maxLen >= 0 && l > n.maxLen || n.pattern != nil && !n.pattern.MatchString(v) {
			c.fail(path, n, v)
		}
	case []any:
		c.checkArray(n, v, path)
	case map[string]any:
		c.checkObject(n, v, path)
	}
	return v
}

func (c *checker) checkNumber(n *node, v json.Number, path string) any {
	f, err := strconv.ParseFloat(v.String(), 64)
	if err != nil || f < n.min || f > n.max || n.xmin && f == n.min || n.xmax && f == n.max {
		if n.clamp && err == nil {
			return c.repair(n, v, path)
		}
		c.fail(path, n, v)
		return v
	}
	if n.kinds&integer == 0 || n.kinds&float != 0 {
		return v
	}
	if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
		return v
	}
	return c.repair(n, v, path) // written as 5.0, or too large
}

func (c *checker) checkArray(n *node, v []any, path string) {
	if len(v) < n.minLen || n.maxLen >= 0 && len(v) > n.maxLen {
		c.fail(path, n, v)
		return
	}
	if n.items == nil {
		return
	}
	for i := range v {
		v[i] = c.check(n.items, v[i], fmt.Sprintf("%s[%d]", path, i))
	}
}

func (c *checker) checkObject(n *node, v map[string]any, path string) {
	c.renameAliases(n, v, path)
	c.dropIgnored(n, v, path)
	for _, name := range n.order {
		if value, ok := v[name]; ok {
			c.checkField(n, v, name, value, join(path, name))
		}
	}
	for _, name := range n.required {
		if _, ok := v[name]; !ok {
			f := n.field(name)
			c.problems = append(c.problems, Problem{Path: join(path, name), Expected: f.expected(), Hint: f.description})
		}
	}
	first := true
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, declared := n.fields[name]; declared {
			continue
		}
		switch {
		case n.closed:
			c.problems = append(c.problems, c.unknown(path, name, v[name], n, first))
			first = false
		case n.more != nil:
			v[name] = c.check(n.more, v[name], join(path, name))
		}
	}
}

func (c *checker) checkField(n *node, v map[string]any, name string, value any, path string) {
	field := n.fields[name]
	if value == nil && !field.takesNull() && !n.requires(name) && !c.strict {
		delete(v, name)
		c.repairs = append(c.repairs, Repair{Path: path, From: "null", To: "absent"})
		return
	}
	v[name] = c.check(field, value, path)
}

// checkUnion accepts v if one of the forms does, and repairs it if exactly one can.
func (c *checker) checkUnion(n *node, v any, path string) any {
	for _, form := range n.anyOf {
		if try := (&checker{strict: true}); try.accepts(form, v, path) {
			return v
		}
	}
	var fits []any
	var repairs []Repair
	if !c.strict {
		for _, form := range n.anyOf {
			try := new(checker)
			if fixed := try.check(form, clone(v), path); len(try.problems) == 0 {
				fits, repairs = append(fits, fixed), try.repairs
			}
		}
	}
	if len(fits) != 1 {
		c.failUnion(n, v, path)
		return v
	}
	c.repairs = append(c.repairs, repairs...)
	return fits[0]
}

// failUnion says what is wrong with v as the one form that has its type, or else
// what the forms are.
func (c *checker) failUnion(n *node, v any, path string) {
	var alike []*node
	for _, form := range n.anyOf {
		if form.kinds != 0 && form.kinds.has(kindOf(v)) {
			alike = append(alike, form)
		}
	}
	if len(alike) == 1 {
		c.check(alike[0], clone(v), path)
		return
	}
	c.fail(path, n, v)
}

func (c *checker) accepts(n *node, v any, path string) bool {
	c.check(n, v, path)
	return len(c.problems) == 0
}

// unknown describes a field that n does not have. Only the first one of an
// object lists what is allowed, and none past those that are shown gets a hint,
// so that a completely wrong input stays readable and cheap.
func (c *checker) unknown(path, name string, value any, n *node, first bool) Problem {
	if len(c.problems) >= maxProblems {
		return Problem{Path: join(path, cut(name))}
	}
	p := Problem{Path: join(path, cut(name)), Got: show(value)}
	switch canonical := n.alias[name]; {
	case canonical != "":
		p.Hint = fmt.Sprintf("It is another name for %s, which was sent too: send only %s.", canonical, canonical)
	case len(n.order) == 0:
		p.Hint = "No parameters are allowed here."
	default:
		p.Hint = strings.TrimSpace(near.Hint(name, n.order))
		if p.Hint == "" && first {
			p.Hint = "Allowed: " + strings.Join(n.order, ", ") + "."
		}
	}
	return p
}

// show says what a value of an input is: its type and its JSON.
func show(v any) string {
	if v == nil {
		return "null"
	}
	return kindOf(v).String() + " " + quote(v)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// repair is called for a value of the wrong type, another word for a value, or a
// number beyond a bound that it may be moved to. The candidate is used only if
// it is valid as it stands: a repair never needs another one to be right.
func (c *checker) repair(n *node, v any, path string) any {
	if candidate, ok := n.candidate(v); ok && !c.strict && (!isTextFor(candidate, v) || namesID(path)) {
		if try := (&checker{strict: true}); try.accepts(n, candidate, path) {
			c.repairs = append(c.repairs, Repair{Path: path, From: quote(v), To: quote(candidate)})
			return candidate
		}
	}
	c.fail(path, n, v)
	return v
}

// isTextFor reports whether a candidate is the text of a number.
func isTextFor(candidate, v any) bool {
	_, number := v.(json.Number)
	_, text := candidate.(string)
	return number && text
}

// namesID reports whether a field holds ids, which models write as numbers. A command or a path
// is no number.
func namesID(path string) bool {
	name := strings.ToLower(path[strings.LastIndexByte(path, '.')+1:])
	return strings.HasSuffix(name, "id") || strings.HasSuffix(name, "]") // a list of ids
}

// renameAliases moves values from older names of a field to its name.
func (c *checker) renameAliases(n *node, v map[string]any, path string) {
	if c.strict || n.alias == nil {
		return
	}
	for _, name := range n.order {
		for _, alias := range n.fields[name].aliases {
			value, sent := v[alias]
			_, taken := v[name]
			_, declared := n.fields[alias]
			if !sent || taken || declared {
				continue
			}
			delete(v, alias)
			v[name] = value
			c.repairs = append(c.repairs, Repair{Path: join(path, alias), From: "the name " + alias, To: "the name " + name})
		}
	}
}

// dropIgnored takes out fields that other systems' tools of the name have and this one has no use for.
func (c *checker) dropIgnored(n *node, v map[string]any, path string) {
	for _, name := range n.ignored {
		if _, sent := v[name]; sent && !c.strict {
			delete(v, name)
			c.repairs = append(c.repairs, Repair{Path: join(path, name), From: "the field", To: "absent, as this tool does not have it"})
		}
	}
}

func kindOf(v any) kinds {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case json.Number:
		if isWhole(v) {
			return integer
		}
		return float
	case string:
		return text
	case []any:
		return array
	default:
		return object
	}
}

func isWhole(v json.Number) bool {
	f, err := strconv.ParseFloat(v.String(), 64)
	return err == nil && f == math.Trunc(f)
}
