package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/tool"
)

// Bounds of what a user is shown.
const (
	maxField    = 1500 // characters of one value
	maxQuestion = 6000
)

// questionText is what the user reads before deciding: all of the input, as it
// will be used, because a summary is for those who need not decide.
func questionText(c tool.Case, why tool.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s?\n", visible.Text(c.Tool.UserName()))
	for name, value := range fields(c.Call.Input) {
		fmt.Fprintf(&b, "\n%s: %s", visible.Text(name), shown(value))
	}
	if why.Message != "" {
		fmt.Fprintf(&b, "\n\n%s", cut(visible.Text(why.Message), maxField))
	}
	return cut(b.String(), maxQuestion)
}

// fields goes through the members of an input in their order; an input that is no
// object is one without a name.
func fields(input json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(input))
		if open, err := d.Token(); err != nil || open != json.Delim('{') {
			yield("input", input)
			return
		}
		for d.More() {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil || !yield(fmt.Sprint(name), value) {
				return
			}
		}
	}
}

// shown is a value for people: a text as it is, several lines of it below the name.
func shown(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return cut(visible.Text(string(value)), maxField)
	}
	text = cut(visible.Text(text), maxField)
	if strings.Contains(text, "\n") {
		return "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return text
}

// cut says how much it leaves out: what is not shown may be what matters.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%s not shown)", string(r[:most]), plural.Of(len(r)-most, "more character"))
}
