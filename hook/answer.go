package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/shorten"
)

// parseOutput parses what a hook printed: one JSON object is an answer, plain text is a
// note. What looks like an answer but cannot be parsed as one is an error: the hook may
// have meant to block. Input is what the hook was given, which some hooks repeat.
func parseOutput(printed []byte, event Event, input []byte) (Output, error) {
	printed = bytes.TrimSpace(printed)
	if len(printed) == 0 || plainjson.Same(printed, input) {
		return Output{}, nil
	}
	if !bytes.HasPrefix(printed, []byte("{")) {
		if err := remark(printed, event); err != nil {
			return Output{}, err
		}
		return Output{text: string(printed)}, nil
	}
	return ReadAnswer(printed)
}

// ReadAnswer parses the answer of a hook, one JSON object; nothing and null mean no
// objection. What cannot be parsed as an answer is an error, because the hook may have
// meant to block.
func ReadAnswer(answer []byte) (out Output, err error) {
	answer = bytes.TrimSpace(answer)
	if len(answer) == 0 || string(answer) == "null" {
		return out, nil
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return Output{}, unreadable(answer, err)
	}
	if err := checkFields(answer); err != nil {
		return Output{}, &AnswerError{fmt.Errorf("%w: %s", err, quoteLine(answer, 0))}
	}
	return out, nil
}

// An AnswerError says what is wrong with a hook's answer.
type AnswerError struct{ Err error }

func (e *AnswerError) Error() string { return e.Err.Error() }
func (e *AnswerError) Unwrap() error { return e.Err }

// unreadable is the error for an object that is not a valid answer, with the line of the
// fault.
func unreadable(printed []byte, err error) error {
	at := 0
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		at = int(wrong.Offset)
		err = fmt.Errorf("%s must not be a JSON %s", wrong.Field, wrong.Value)
	}
	return &AnswerError{fmt.Errorf("its answer cannot be read: %w: %s", err, quoteLine(printed, at))}
}

var (
	// field is the name of a field of an answer as it is written in JSON, or as a script
	// prints a dictionary.
	field = lazyregexp.New(`["'](?:decision|permissionDecision|hookSpecificOutput|continue|behavior|updatedInput|additionalContext|systemMessage|stopReason|suppressOutput)["']\s*:`)
	// verdicts are words that only a hook which means to decide prints alone.
	verdicts = lazyregexp.New(`^"?(?i:allow|approve|deny|block|ask|false)"?$`)
	// marks begin texts that are not plain UTF-8.
	marks = []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}
)

// remark says why a text that does not begin like an answer cannot be taken for a note; nil
// if it can. Hooks whose text is for the model may quote answers in it.
func remark(printed []byte, event Event) error {
	for _, mark := range marks {
		if bytes.HasPrefix(printed, []byte(mark)) {
			return fmt.Errorf("it printed a byte order mark before its answer; print plain UTF-8: %s", quoteLine(printed, 0))
		}
	}
	if verdicts.Match(printed) {
		return fmt.Errorf(`it printed a bare word; answer with JSON such as {"decision":"block"}, or exit with code 2: %s`, quoteLine(printed, 0))
	}
	if printed[0] == '[' && json.Valid(printed) {
		return fmt.Errorf("its answer is a list; it must be a single object: %s", quoteLine(printed, 0))
	}
	found := field.Get().FindIndex(printed)
	if found == nil || forModel(event) && !bytes.HasPrefix(bytes.TrimSpace(lineAt(printed, found[0])), []byte("{")) {
		return nil
	}
	return fmt.Errorf("it printed something before its answer; the answer must be its only output: %s", quoteLine(printed, 0))
}

// forModel reports whether the model reads what a hook of the event prints.
func forModel(event Event) bool { return event == "UserPromptSubmit" || event == "SessionStart" }

func lineAt(text []byte, at int) []byte {
	at = min(at, len(text))
	from := bytes.LastIndexByte(text[:at], '\n') + 1
	if end := bytes.IndexByte(text[from:], '\n'); end >= 0 {
		return text[from : from+end]
	}
	return text[from:]
}

// quoteLine is the line of an output that a byte is in, to show.
func quoteLine(text []byte, at int) string {
	line := shorten.To(strings.TrimSpace(string(lineAt(text, at))), 160)
	return fmt.Sprintf("line %d: %q", 1+bytes.Count(text[:min(at, len(text))], []byte("\n")), line)
}

// The fields of answers, and those of Claude Code that have no effect here.
var (
	topFields = []string{
		"continue", "stopReason", "systemMessage", "suppressOutput", "decision", "reason", "hookSpecificOutput",
		"async", "asyncTimeout", "terminalSequence",
	}
	specificFields = []string{
		"hookEventName", "additionalContext", "permissionDecision", "permissionDecisionReason", "updatedInput", "updatedToolOutput", "decision",
		"updatedMCPToolOutput", "updatedPermissions", "sessionTitle", "initialUserMessage", "watchPaths", "retry", "suppressOriginalPrompt", "displayContent", "reloadSkills",
	}
	answerFields = []string{"behavior", "updatedInput", "updatedPermissions", "message", "interrupt"}
)

// checkFields finds a field that is unknown, in the wrong place or there twice: what it
// says would be lost.
func checkFields(answer []byte) error {
	top, err := members(answer, "", topFields)
	if err != nil {
		return err
	}
	specific, err := members(top["hookSpecificOutput"], "hookSpecificOutput.", specificFields)
	if err != nil {
		return err
	}
	_, err = members(specific["decision"], "hookSpecificOutput.decision.", answerFields)
	return err
}

// members returns the members of an object, whose names must all be known. A value that is
// not an object has none.
func members(object json.RawMessage, at string, known []string) (map[string]json.RawMessage, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		return nil, nil
	}
	found := make(map[string]json.RawMessage)
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("its answer has %s%s twice", at, name)
		}
		if !slices.Contains(known, name) {
			return nil, strange(name, at, known)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		found[name] = value
	}
	return found, nil
}

// strange is the error for a field that is unknown in its place.
func strange(name, at string, known []string) error {
	elsewhere := map[string][]string{"": topFields, "hookSpecificOutput.": specificFields}
	for _, place := range slices.Sorted(maps.Keys(elsewhere)) {
		if place != at && slices.Contains(elsewhere[place], name) {
			if place == "" {
				return fmt.Errorf("its answer has %s in %s; move it to the top level", name, strings.TrimSuffix(at, "."))
			}
			return fmt.Errorf("its answer has %s outside %s; move it inside", name, strings.TrimSuffix(place, "."))
		}
	}
	return fmt.Errorf("its answer has the unknown field %q.%s", at+name, near.Hint(name, known))
}
