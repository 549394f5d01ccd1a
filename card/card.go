// Package card is what people see of a call: a title, a line about it, what
// decided, how it went, what it changed. The front ends draw cards; what they
// say is the same everywhere.
//
// Everything comes from a model, a tool or a file, so every text is made visible:
// nothing in it can move a cursor or hide. Cards are plain values.
package card

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/haftdev/haft/permission/ask"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/workspace/patch"
)

// A Card is a call as people see it.
type Card struct {
	UseID string
	// Title is the tool's name for people, Detail a line about the call.
	Title, Detail string
}

// Of returns the card of a call that a model makes.
func Of(set *tool.Set, useID, name string, input json.RawMessage) Card {
	c := Card{UseID: useID, Title: line(name)}
	var t *tool.Tool
	if set != nil {
		t = set.Lookup(name)
	}
	if t == nil {
		return c
	}
	c.Title = line(t.UserName())
	if t.Summarize != nil {
		c.Detail = summary(func() string { return t.Summarize(&tool.Call{UseID: useID, Tool: t.Name, Input: input}) })
	}
	return c
}

// String is the card in one line.
func (c Card) String() string {
	if c.Detail == "" {
		return c.Title
	}
	return c.Title + " " + c.Detail
}

// An Ending is how a call went.
type Ending struct {
	// Line says it in a few words.
	Line string
	// OK is set if the call did what was asked.
	OK bool
	// Verdict says what allowed or denied the call, if it came to that.
	Verdict string
	// Hunks are what it changed in a file.
	Hunks []patch.Hunk
	// Took is how long it ran; 0 if it did not.
	Took time.Duration
}

// End returns how a call went.
func End(set *tool.Set, out *sched.Outcome) Ending {
	e := Ending{OK: !out.IsError(), Verdict: verdict(out.Verdict)}
	if out.Ran() {
		e.Took = out.Ended.Sub(out.Started)
	}
	e.Line = firstLine(out.Result.Text())
	var t *tool.Tool
	if set != nil {
		t = set.Lookup(out.Tool)
	}
	if t == nil || !e.OK {
		return e
	}
	if t.SummarizeResult != nil {
		if s := summary(func() string { return t.SummarizeResult(out.Result) }); s != "" {
			e.Line = s
		}
	}
	if !t.MarksOf(&tool.Call{UseID: out.UseID, Tool: t.Name, Input: out.Input}).ReadOnly {
		e.Hunks = hunks(out.Result.Output)
	}
	return e
}

// hunks finds the patch in the output of a tool that changes files.
func hunks(output any) []patch.Hunk {
	raw, err := json.Marshal(output)
	if err != nil {
		return nil
	}
	var o struct {
		Patch []patch.Hunk `json:"structuredPatch"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o.Patch
}

// verdict says what decided, with the place where a rule stands.
func verdict(v tool.Verdict) string {
	var word string
	switch v.Behavior {
	case tool.Allow:
		word = "allowed"
	case tool.Deny:
		word = "denied"
	default:
		return ""
	}
	s := word
	if v.Reason != "" {
		s += ": " + line(v.Reason)
	}
	if v.Rule != "" && !strings.Contains(v.Reason, v.Rule) {
		s += fmt.Sprintf(" (rule %s)", line(v.Rule))
	}
	return s
}

// summary is a tool's own text. A tool that fails at it has none.
func summary(f func() string) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	return line(f())
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return line(s)
}

// line makes a text visible in one line of bounded length.
func line(s string) string {
	const limit = 200
	s = ask.Visible(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
