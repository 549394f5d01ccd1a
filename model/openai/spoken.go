package openai

import (
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/model"
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

// speak takes a piece of text; end says that it was the last one.
func (a *answer) speak(text string, end bool) bool {
	s := &a.spoken
	s.held += text
	for more := true; more; {
		if s.trim {
			s.held = strings.TrimLeft(s.held, "\r\n")
			if s.trim = s.held == ""; s.trim {
				return true
			}
		}
		var ok bool
		switch s.mode {
		case "":
			more, ok = s.begin(end), true
		case thinkTag:
			more, ok = a.thought(end)
		case callTag:
			more, ok = a.written(end)
		default:
			more, ok = a.plain(end)
		}
		if !ok {
			return false
		}
	}
	return true
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

// thought passes on what is thought, up to its end.
func (a *answer) thought(end bool) (more, ok bool) {
	s := &a.spoken
	before, rest, closed := strings.Cut(s.held, thinkEnd)
	if closed {
		s.mode, s.held, s.trim = "text", rest, true
		return true, a.say(model.Thinking, model.ThinkingDelta, before)
	}
	said := s.held
	if !end {
		said = s.held[:len(s.held)-begun(s.held, thinkEnd)]
	}
	s.held = s.held[len(said):]
	return false, a.say(model.Thinking, model.ThinkingDelta, said)
}

// plain passes on text, up to a call.
func (a *answer) plain(end bool) (more, ok bool) {
	s := &a.spoken
	at := strings.Index(s.held, callTag)
	if at >= 0 {
		before := s.held[:at]
		if s.startsLine(before) {
			s.mode, s.held = callTag, s.held[at+len(callTag):]
			return true, a.text(before)
		}
		s.held = s.held[at+len(callTag):]
		return true, a.text(before + callTag)
	}
	said := s.held
	if !end {
		said = s.held[:len(s.held)-begun(s.held, callTag)]
	}
	s.held = s.held[len(said):]
	return false, a.text(said)
}

// startsLine reports whether what follows a text is on a new line, and not in a block of code.
func (s *spoken) startsLine(text string) bool {
	text = s.all.String() + text
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	return line == "" && strings.Count(text, "```")%2 == 0
}

// text passes on text, which is remembered to know where a line begins.
func (a *answer) text(text string) bool {
	a.spoken.all.WriteString(text)
	return a.say(model.Text, model.TextDelta, text)
}

// written makes a call of what is between the tags, if it is one of a tool that the model
// was given; else it is text.
func (a *answer) written(end bool) (more, ok bool) {
	s := &a.spoken
	before, rest, closed := strings.Cut(s.held, callEnd)
	if !closed && !end {
		return false, true
	}
	var call struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	s.mode = "text"
	if !closed || json.Unmarshal([]byte(before), &call) != nil || !a.tools[call.Name] {
		said := callTag + before
		if closed {
			said += callEnd
		}
		s.held = rest
		s.all.WriteString(said)
		return closed, a.say(model.Text, model.TextDelta, said)
	}
	s.held, s.trim = rest, true
	d := new(callDelta)
	d.Function.Name = call.Name
	for _, raw := range []json.RawMessage{call.Arguments, call.Parameters} {
		if len(raw) > 0 && d.Function.Arguments == "" {
			if err := json.Unmarshal(raw, &d.Function.Arguments); err != nil {
				return true, a.fail(err)
			}
		}
	}
	return true, a.call(d)
}

// begun is how many bytes at the end of a text may be the beginning of a tag.
func begun(text, tag string) int {
	for n := min(len(tag)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, tag[:n]) {
			return n
		}
	}
	return 0
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
