package card

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/text/visible"
)

// Line is the input of a call in one line, for people who have no tool at hand to describe
// it: all fields in the order in which they were sent. What is alone needs no name.
func Line(input json.RawMessage) string {
	list := fields(input)
	var parts []string
	for _, f := range list {
		text := strings.Join(strings.Fields(visible.Text(f.value)), " ")
		if f.name != "" && len(list) > 1 {
			text = visible.Name(f.name) + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// A namedValue is a field of an input.
type namedValue struct{ name, value string }

// fields are those of an object, in its order; anything else is one value without a name.
func fields(input json.RawMessage) []namedValue {
	d := json.NewDecoder(bytes.NewReader(input))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return []namedValue{{"", valueText(input)}}
	}
	var list []namedValue
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		text, ok := name.(string)
		if err != nil || !ok {
			return []namedValue{{"", string(input)}}
		}
		list = append(list, namedValue{text, valueText(value)})
	}
	return list
}

// valueText is a text as it is, and any other value as JSON.
func valueText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
