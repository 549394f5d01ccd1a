package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// A Repair is one change that made an input valid.
type Repair struct {
	Path     string // the field, such as edits[1].replace_all
	From, To string // what came and what it was read as, as JSON
}

func (r Repair) String() string {
	return r.Path + ": " + r.From + " was read as " + r.To
}

// repair is called for a value of the wrong type, another word for a value, or a
// number beyond a bound that it may be moved to. The candidate is used only if
// it is valid as it stands: a repair never needs another one to be right.
func (c *checker) repair(n *node, v any, path string) any {
	if candidate, ok := n.candidate(v); ok && !c.strict {
		if try := (&checker{strict: true}); try.accepts(n, candidate, path) {
			c.repairs = append(c.repairs, Repair{Path: path, From: quote(v), To: quote(candidate)})
			return candidate
		}
	}
	c.fail(path, n, v)
	return v
}

// candidate reads v as the type that n wants, if there is one way to do so.
func (n *node) candidate(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		if len(n.enum) > 0 && n.kinds.has(text) {
			return n.fromWord(v)
		}
		return n.fromText(v)
	case json.Number:
		if f, err := v.Float64(); n.clamp && err == nil && (f < n.min || f > n.max) {
			return json.Number(strconv.FormatFloat(min(max(f, n.min), n.max), 'f', -1, 64)), true
		}
		if n.kinds&integer != 0 {
			return wholeNumber(v)
		}
		if n.kinds.has(text) && kindOf(v) == integer { // an id such as 5
			return v.String(), true
		}
	}
	return nil, false
}

// fromWord finds the value that a word stands for: one that the schema knows, or
// the only one that is spelled like it but for case, blanks and hyphens.
func (n *node) fromWord(word string) (any, bool) {
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	if meant, ok := n.means[strings.ToLower(strings.TrimSpace(word))]; ok {
		return meant, true
	}
	var found []any
	for _, e := range n.enum {
		if s, ok := e.(string); ok && plain(s) == plain(word) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}

// fromText reads the JSON inside a string, if its type is one that n wants.
func (n *node) fromText(s string) (any, bool) {
	inner, err := decode(json.RawMessage(s))
	if err != nil {
		return nil, false
	}
	kind := kindOf(inner)
	if kind == text || kind == null || !n.kinds.has(kind) {
		return nil, false
	}
	return inner, true
}

// wholeNumber writes 5.0 or 5e0 as 5, if it is short enough for the conversion to
// be exact.
func wholeNumber(v json.Number) (any, bool) {
	const exactDigits = 15
	f, err := strconv.ParseFloat(v.String(), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 || len(v) > exactDigits {
		return nil, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
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

// clone copies v deeply: forms of a union are tried on a copy each.
func clone(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = clone(v[i])
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for k := range v {
			c[k] = clone(v[k])
		}
		return c
	}
	return v
}
