package card

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// An Ending is how a call went.
type Ending struct {
	// Line says it in a few words. Brief lines are the tool's own or ours; others
	// begin what came back, and Output has more of it.
	Line  string
	Brief bool
	// Output is what came back, line by line, its first and last [Excerpt] lines if
	// it is long; Left is how many lines are left out between them.
	Output []string
	Left   int
	// OK is set if the call did what was asked, Stopped if it was interrupted.
	OK, Stopped bool
	// Verdict says what allowed or denied the call, if it came to that.
	Verdict string
	// Confined says what a command was held to; "" for other calls.
	Confined string
	// Hunks are what it changed in a file, Added and Removed how many lines.
	Hunks          []patch.Hunk
	Added, Removed int
	// Took is how long it ran; 0 if it did not.
	Took time.Duration
}

// Excerpt is how many lines of an output are shown from either end.
const Excerpt = 2

// End returns how a call went, in the words of a language; nil is English.
func End(set *tool.Set, out *sched.Outcome, words *lang.Catalogue) Ending {
	e := Ending{OK: !out.IsError(), Verdict: verdict(out.Verdict, words), Confined: confined(out.Result.Output, words)}
	if out.Ran() {
		e.Took = out.Ended.Sub(out.Started)
	}
	e.output(out.Result.Text())
	var t *tool.Tool
	if set != nil {
		t = set.Lookup(out.Tool)
	}
	switch {
	case out.Status == sched.Cancelled:
		e.brief(words.T("interrupted"))
		e.Stopped = true
	case out.Status == sched.Denied:
		e.brief(denial(out, words))
	case t == nil || !e.OK:
	default:
		if t.SummarizeResult != nil {
			e.brief(summary(func() string { return t.SummarizeResult(out.Result) }))
		}
		if !t.MarksOf(&tool.Call{UseID: out.UseID, Tool: t.Name, Input: out.Input}).ReadOnly {
			e.Hunks = hunks(out.Result.Output)
			e.Added, e.Removed = changes(e.Hunks)
		}
	}
	return e
}

// brief says in a few words what is worth knowing, if there are any.
func (e *Ending) brief(line string) {
	if line != "" {
		e.Line, e.Brief, e.Output, e.Left = line, true, nil, 0
	}
}

// output takes in what came back, without what is added for the model.
func (e *Ending) output(text string) {
	text = forPeople(text)
	if strings.TrimSpace(text) == "" {
		return
	}
	all := strings.Split(text, "\n")
	if left := len(all) - 2*Excerpt; left > 1 { // one line is shown rather than counted
		e.Left = left
		all = append(all[:Excerpt:Excerpt], all[len(all)-Excerpt:]...)
	}
	for _, l := range all {
		e.Output = append(e.Output, spaced(l))
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	e.Line = line(first)
}

// Text is what came back, all of it, without what is added for the model. It is not made
// visible.
func Text(out *sched.Outcome) string { return forPeople(out.Result.Text()) }

// forPeople takes off what is added to a result for the model.
func forPeople(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<tool_use_error>"), "</tool_use_error>")
	if before, notes, ok := cutLast(text, "<bash-notes>"); ok && strings.HasSuffix(strings.TrimSpace(notes), "</bash-notes>") {
		text = before
		if strings.TrimSpace(text) == "" {
			text, _, _ = strings.Cut(strings.TrimSpace(notes), "\n")
		}
	}
	return strings.Trim(text, "\n")
}

// spaced makes a line visible and keeps the spaces in it, which may be a table's.
func spaced(s string) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "\t", "    "), " \r")
	return visible.Indented(shorten.To(s, 500))
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// denial says who denied a call, and what they said.
func denial(out *sched.Outcome, words *lang.Catalogue) string {
	if out.Verdict.Reason == "the user denied it" {
		if why, _ := ask.Denied(forPeople(out.Result.Text())); why != "" {
			return words.T("you denied it: %s", line(why))
		}
		return words.T("you denied it")
	}
	if v := out.Verdict; strings.HasPrefix(v.Reason, "hook ") && v.Message != "" {
		return words.T("denied: %s", line(v.Message)) // what the hook says, not what it is
	}
	return verdict(out.Verdict, words)
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
func verdict(v tool.Verdict, words *lang.Catalogue) string {
	var bare, because lang.Text
	switch v.Behavior {
	case tool.Allow:
		bare, because = "allowed", "allowed: %s"
	case tool.Deny:
		bare, because = "denied", "denied: %s"
	default:
		return ""
	}
	s := words.T(bare)
	if v.Reason != "" {
		s = words.T(because, line(words.Sentence(v.Reason)))
	}
	if v.Rule != "" && !strings.Contains(v.Reason, v.Rule) {
		s += words.T(" (rule %s)", line(v.Rule))
	}
	return s
}

// confinements are what people read.
var confinements = map[tool.Confinement]lang.Text{tool.ReadOnly: "read-only", tool.ProjectOnly: "project only", tool.Previewed: "previewed", tool.Held: "held to the rules", tool.Unconfined: "not confined"}

// confined says what held the command of an output.
func confined(output any, words *lang.Catalogue) string {
	c, ok := output.(tool.Confined)
	if !ok {
		return ""
	}
	to, tier := c.ConfinedTo()
	text := words.T(confinements[to])
	if tier == "landlock" { // which leaves gaps
		return words.T("%s by %s", text, tier)
	}
	return text
}

// changes counts the lines that were added and removed.
func changes(hunks []patch.Hunk) (added, removed int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch {
			case strings.HasPrefix(l, "+"):
				added++
			case strings.HasPrefix(l, "-"):
				removed++
			}
		}
	}
	return added, removed
}
