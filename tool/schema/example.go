package schema

import (
	"encoding/json"
	"math"
	"strings"
	"unicode/utf8"
)

// Example returns a small valid input: the required fields with example values.
// It is nil if no valid one can be made, as when a pattern has no example.
func (v *View) Example() json.RawMessage { return v.correct(map[string]any{}) }

// correct returns a valid input as near as possible to what was sent.
func (v *View) correct(sent any) json.RawMessage {
	if _, ok := sent.(map[string]any); !ok {
		sent = map[string]any{}
	}
	raw := marshal(v.root.near(sent))
	if _, _, err := v.Check(raw); err != nil {
		return nil
	}
	return raw
}

// near returns a valid value that keeps the valid parts of v.
func (n *node) near(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if n.kinds.has(object) && n.kinds != 0 {
			return n.nearObject(v)
		}
	case []any:
		if n.kinds&array != 0 && n.items != nil && len(v) > 0 && len(v) >= n.minLen {
			return []any{n.items.near(v[0])}
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
			out[name] = field.near(value)
		}
	}
	if !n.closed {
		for name, value := range v {
			if n.fields[name] != nil || n.alias[name] != "" {
				continue
			}
			if n.more != nil {
				value = n.more.near(value)
			}
			out[name] = value
		}
	}
	return out
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
		return strings.Repeat("…", max(1, n.minLen))
	case n.kinds&(integer|float) != 0:
		return n.inRange()
	case n.kinds&boolean != 0:
		return true
	case n.kinds&array != 0:
		list := []any{}
		for range max(n.minLen, 1) {
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
