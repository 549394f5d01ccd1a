package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/near"
)

// Example returns a small valid input: the required fields with example values.
// It is nil if no valid one can be made, as when a pattern has no example.
func (v *View) Example() json.RawMessage { return v.valid(v.derived().root.placeholder()) }

// correct returns a valid input as near as possible to what was sent: it keeps
// what can be kept, leaves out what need not be there, and marks what only the
// sender knows. It invents nothing that could be taken for advice.
func (v *View) correct(sent any) json.RawMessage {
	object, _ := sent.(map[string]any)
	return v.valid(v.derived().root.nearObject(object, "<%s>"))
}

// valid returns an example, or nil if it is none.
func (v *View) valid(example any) json.RawMessage {
	raw := marshal(example)
	if _, _, err := v.Check(raw); err != nil || len(raw) > maxExample {
		return nil
	}
	return raw
}

// maxExample bounds an example: a longer one would not help.
const maxExample = 2_000

// maxMade bounds what is invented, because a foreign schema may ask for a string
// of a thousand million characters.
const maxMade = 200

// nearest returns a valid value that keeps the valid parts of v, and reports false if
// there is nothing to keep.
func (n *node) nearest(v any) (any, bool) {
	for _, form := range n.anyOf {
		if form.kinds != 0 && form.kinds.has(kindOf(v)) {
			return form.nearest(v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if n.kinds.has(object) && n.kinds != 0 {
			return n.nearObject(v, "<%s>"), true
		}
	case []any:
		if n.kinds&array != 0 && n.items != nil && len(v) > 0 && len(v) >= n.minLen {
			if item, ok := n.items.nearest(v[0]); ok {
				return []any{item}, true
			}
		}
	}
	if v == nil {
		return nil, false
	}
	c := new(checker)
	fixed := c.check(n, clone(v), "")
	if len(c.problems) > 0 {
		return nil, false
	}
	if s, ok := fixed.(string); ok && n.pattern == nil && n.enum == nil {
		return abridge(s, n.minLen), true
	}
	return fixed, true
}

// nearObject keeps the fields of v that are valid. Required ones that are not are
// written as mark, which has their name, or invented where that is not a value.
func (n *node) nearObject(v map[string]any, mark string) any {
	out := make(map[string]any)
	for name, field := range n.fields {
		if value, sent := v[name]; sent {
			if kept, ok := field.nearest(value); ok {
				out[name] = kept
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if n.fields[name] == nil {
			n.placeUnknown(out, v, name, v[name])
		}
	}
	for _, name := range n.required {
		if _, ok := out[name]; ok {
			continue
		}
		field := n.field(name)
		out[name] = field.placeholder()
		if marked := fmt.Sprintf(mark, name); mark != "" && field.example != "" && (&checker{strict: true}).accepts(field, marked, "") {
			out[name] = marked
		}
	}
	return out
}

// placeUnknown puts a field that is not declared where it was meant: by an older
// name, or by a slip in the name of one that is required.
func (n *node) placeUnknown(out, sent map[string]any, name string, value any) {
	if !n.closed {
		if n.more != nil {
			value, _ = n.more.nearest(value)
		}
		out[name] = value
		return
	}
	if len(sent) > maxMade {
		return // a completely wrong input means nothing
	}
	meant := n.alias[name]
	if guesses := near.Names(name, n.required, 1); meant == "" && len(guesses) > 0 {
		meant = guesses[0]
	}
	if _, taken := sent[meant]; meant == "" || taken {
		return
	}
	if kept, ok := n.field(meant).nearest(value); ok {
		out[meant] = kept
	}
}

// placeholder invents a value.
func (n *node) placeholder() any {
	if n.example != "" {
		if n.kinds&text != 0 {
			return n.example
		}
		if v, err := decode(json.RawMessage(n.example)); err == nil {
			return v
		}
	}
	switch {
	case len(n.anyOf) > 0:
		return n.anyOf[0].placeholder()
	case len(n.enum) > 0:
		return n.enum[0]
	case n.kinds&text != 0:
		return strings.Repeat("…", min(max(1, n.minLen), maxMade))
	case n.kinds&(integer|float) != 0:
		return n.inRange()
	case n.kinds&boolean != 0:
		return true
	case n.kinds&array != 0:
		list := []any{}
		for range min(max(n.minLen, 1), maxMade) {
			if n.items != nil && (n.maxLen < 0 || len(list) < n.maxLen) {
				list = append(list, n.items.placeholder())
			}
		}
		return list
	case n.kinds&object != 0:
		return n.nearObject(nil, "")
	}
	return nil
}

func (n *node) inRange() any {
	low := n.min
	if n.xmin {
		low++
	}
	switch {
	case !math.IsInf(low, -1):
		return max(1, low)
	case n.max < 1:
		return n.max
	}
	return 1
}

// abridge cuts a long string out of an example: its sender knows the rest.
func abridge(s string, atLeast int) string {
	const keep = 40
	if utf8.RuneCountInString(s) <= max(keep, atLeast) {
		return s
	}
	return string([]rune(s)[:max(keep, atLeast)-1]) + "…"
}
