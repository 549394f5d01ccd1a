package openai

import (
	"encoding/json"
	"strings"
)

// The tags by which the templates of local models mark what their servers do not know how to
// tell from text.
const (
	thinkTag, thinkEnd = "<think>", "</think>"
	callTag, callEnd   = "<tool_call>", "</tool_call>"
)

// spoken reads the text of an answer, in which a thought may be at the beginning and calls on
// lines of their own, outside of code. Everything else stays text.
type spoken struct {
	mode string // the tag that is open; "" before anything was said, "text" after
	held string // what may be part of a tag
	trim bool   // line breaks after a tag are part of it
	all  strings.Builder
}

// begin finds out whether the answer begins with a thought.
func (s *spoken) begin(end bool) (more bool) {
	rest := strings.TrimLeft(s.held, " \t\r\n")
	switch {
	case strings.HasPrefix(rest, thinkTag):
		s.mode, s.held, s.trim = thinkTag, rest[len(thinkTag):], true
	case !end && strings.HasPrefix(thinkTag, rest):
		return false
	default:
		s.mode = "text"
	}
	return true
}

// startsLine reports whether what follows a text is on a new line, and not in a block of code.
func (s *spoken) startsLine(text string) bool {
	text = s.all.String() + text
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return line == "" && strings.Count(text, "```")%2 == 0
}

// toolNames are those of the tools of a request.
func toolNames(tools []byte) map[string]bool {
	var list []struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(tools, &list) // without tools nothing is a call
	names := map[string]bool{}
	for _, t := range list {
		names[t.Name] = true
	}
	return names
}
