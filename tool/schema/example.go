package schema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/near"
)

// Example returns a small valid input: the required fields with example values.
// It is nil if no valid one can be made, as when a pattern has no example.
func (v *View) Example() json.RawMessage { return v.correct(map[string]any{}) }

// correct returns a valid input as near as possible to what was sent.
func (v *View) correct(sent any) json.RawMessage {
	if _, ok := sent.(map[string]any); !ok {
		sent = map[string]any{}
	}
	raw := marshal(v.root.nearest(sent))
	if _, _, err := v.Check(raw); err != nil || len(raw) > maxExample {
		return nil
	}
	return raw
}

// maxExample bounds an example: a longer one would not help anybody.
const maxExample = 2_000

// maxMade bounds what is invented, because a foreign schema may ask for a string
// of a thousand million characters.
const maxMade = 200

// nearest returns a valid value that keeps the valid parts of v.
func (n *node) nearest(v any) any {
	for _, form := range n.anyOf {
		if form.kinds != 0 && form.kinds.has(kindOf(v)) {
			return form.nearest(v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		if n.kinds.has(object) && n.kinds != 0 {
			return n.nearObject(v)
		}
	case []any:
		if n.kinds&array != 0 && n.items != nil && len(v) > 0 && len(v) >= n.minLen {
			return []any{n.items.nearest(v[0])}
		}
	}
	if c := new(checker); v != nil && c.accepts(n, clone(v), "") {
		if s, ok := v.(string); ok && n.pattern == nil && n.enum == nil {
			return abridge(s, n.minLen)
		}
		return v
	}
	return n.placeholder()
}

func (n *node) nearObject(v map[string]any) any {
	out := make(map[string]any)
	for name, field := range n.fields {
		value, sent := v[name]
		switch {
		case sent && value == nil && !n.requires(name):
		case sent || n.requires(name):
			out[name] = field.nearest(value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if n.fields[name] == nil {
			n.placeUnknown(out, v, name, v[name])
		}
	}
	return out
}

// placeUnknown puts a field that is not declared where it was probably meant.
func (n *node) placeUnknown(out, sent map[string]any, name string, value any) {
	if !n.closed {
		if n.more != nil {
			value = n.more.nearest(value)
		}
		out[name] = value
		return
	}
	meant := n.alias[name]
	if len(sent) > maxMade {
		return // a wholly wrong input means nothing
	}
	if guesses := near.Names(name, n.order, 1); meant == "" && len(guesses) > 0 {
		meant = guesses[0]
	}
	if _, taken := sent[meant]; meant != "" && !taken {
		out[meant] = n.fields[meant].nearest(value)
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
		return n.nearObject(nil)
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
