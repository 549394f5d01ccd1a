package settings

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// A ruleEdit changes the rules in permissions.<list>.
type ruleEdit func(text []byte, list, rule string) ([]byte, error)

// apply edits a file's text. A byte order mark stays.
func (e ruleEdit) apply(text []byte, list, rule string) ([]byte, error) {
	rest, marked := bytes.CutPrefix(text, bom)
	edited, err := e(rest, list, rule)
	if err != nil || !marked {
		return edited, err
	}
	return slices.Concat(bom, edited), nil
}

// addRule returns text with the rule at the end of permissions.<list>.
func addRule(text []byte, list, rule string) ([]byte, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	permissions, err := d.find(d.root, "permissions", '{')
	if err != nil {
		return nil, err
	}
	if permissions == nil {
		return d.insert(d.root, func(in indent) string {
			return `"permissions": ` + in.wrap("{}", func(in indent) string { return newList(in, list, rule) })
		}), nil
	}
	rules, err := d.find(permissions, list, '[')
	if err != nil {
		return nil, err
	}
	if rules == nil {
		return d.insert(permissions, func(in indent) string { return newList(in, list, rule) }), nil
	}
	if ruleAt(rules, rule) >= 0 {
		return d.text, nil
	}
	return d.insert(rules, func(indent) string { return quote(rule) }), nil
}

func newList(in indent, list, rule string) string {
	return quote(list) + ": " + in.wrap("[]", func(indent) string { return quote(rule) })
}

// removeRule returns text without the rule in permissions.<list>.
func removeRule(text []byte, list, rule string) ([]byte, error) {
	for {
		d, err := newDocument(text)
		if err != nil {
			return nil, err
		}
		permissions, err := d.find(d.root, "permissions", '{')
		if err != nil || permissions == nil {
			return text, err
		}
		rules, err := d.find(permissions, list, '[')
		if err != nil || rules == nil {
			return text, err
		}
		at := ruleAt(rules, rule)
		if at < 0 {
			return text, nil
		}
		text = d.remove(rules, at)
	}
}

// ruleAt returns where in a list the rule is first, or -1.
func ruleAt(list *hujson.Value, rule string) int {
	return slices.IndexFunc(list.Value.(*hujson.Array).Elements, func(e hujson.Value) bool {
		l, ok := e.Value.(hujson.Literal)
		return ok && l.Kind() == '"' && l.String() == rule
	})
}

func quote(s string) string { return string(hujson.String(s)) }
