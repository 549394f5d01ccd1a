package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// SetText sets the string value of a key at the top level of a file. Every other byte of
// the file stays.
func SetText(ctx context.Context, t Target, key, value string) error {
	return t.set(ctx, key, func(text []byte) ([]byte, error) { return setValue(text, []string{key}, '"', quote(value)) })
}

// A Knob is a single value that a settings file can have.
type Knob struct {
	// Key is its path, such as "calls.afterFailure".
	Key string
	// Takes describes the possible values. OneOf lists them if they are fixed texts, and is
	// nil otherwise.
	Takes string
	OneOf []string

	shape shape
}

// Knobs are the single values that haft uses, by their keys. Lists and objects are not
// among them.
func Knobs() []Knob {
	var knobs []Knob
	var add func(prefix string, members map[string]shape)
	add = func(prefix string, members map[string]shape) {
		for name, s := range members {
			key := prefix + name
			switch {
			case s.effect != acts || name == "$schema" || s.kinds == "":
			case s.kinds == "{" && s.members != nil:
				add(key+".", s.members)
			case s.kinds == "tf":
				knobs = append(knobs, Knob{key, "true or false", []string{"true", "false"}, s})
			case s.kinds == `"` || s.kinds == "0":
				knobs = append(knobs, Knob{key, s.String(), s.oneOf, s})
			}
		}
	}
	add("", topLevel())
	slices.SortFunc(knobs, func(a, b Knob) int { return strings.Compare(a.Key, b.Key) })
	return knobs
}

// Set writes a value to a file, as a user types it: true, 3, some text. "" removes the key, so
// that other files or the default decide. Every other byte of the file stays.
func (k Knob) Set(ctx context.Context, t Target, typed string) error {
	path := strings.Split(k.Key, ".")
	if typed == "" {
		return t.set(ctx, k.Key, func(text []byte) ([]byte, error) { return unsetValue(text, path) })
	}
	raw, err := k.value(typed)
	if err != nil {
		return err
	}
	return t.set(ctx, k.Key, func(text []byte) ([]byte, error) { return setValue(text, path, 0, raw) })
}

// value is what was typed, as JSON.
func (k Knob) value(typed string) (string, error) {
	wrong := fmt.Errorf("%s accepts %s, not %q", k.Key, k.Takes, typed)
	switch {
	case k.OneOf != nil && !slices.Contains(k.OneOf, typed):
		return "", wrong
	case k.shape.kinds == `"`:
		return quote(typed), nil
	case k.shape.kinds == "tf":
		return typed, nil
	}
	var n float64
	if json.Unmarshal([]byte(typed), &n) != nil || !json.Valid([]byte(typed)) {
		return "", wrong
	}
	if k.shape.least == "" {
		return typed, nil
	}
	var least float64
	if json.Unmarshal([]byte(k.shape.least), &least) != nil || n < least || n != float64(int64(n)) {
		return "", wrong
	}
	return typed, nil
}

// setValue sets the value at a path of keys. An existing value must be of the given kind; 0
// accepts any.
func setValue(text []byte, path []string, kind hujson.Kind, raw string) ([]byte, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	at := d.root
	for len(path) > 1 {
		next, err := d.find(at, path[0], '{')
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		at, path = next, path[1:]
	}
	if len(path) == 1 {
		old, err := d.find(at, path[0], kind)
		if err != nil {
			return nil, err
		}
		if old != nil {
			return splice(d.text, old.StartOffset, old.EndOffset, raw), nil
		}
	}
	return d.insert(at, func(in indent) string { return nested(in, path, raw) }), nil
}

// nested is a member, wrapped in objects for the keys that do not exist yet.
func nested(in indent, path []string, raw string) string {
	if len(path) == 1 {
		return quote(path[0]) + ": " + raw
	}
	return quote(path[0]) + ": " + in.wrap("{}", func(in indent) string { return nested(in, path[1:], raw) })
}

// unsetValue removes the value at a path of keys.
func unsetValue(text []byte, path []string) ([]byte, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	at := d.root
	for _, key := range path[:len(path)-1] {
		if at, err = d.find(at, key, '{'); err != nil || at == nil {
			return text, err
		}
	}
	if i := d.memberAt(at, path[len(path)-1]); i >= 0 {
		return unsetValue(d.remove(at, i), path) // a key may be there twice
	}
	return text, nil
}
