package sched

import (
	"cmp"

	"github.com/haftdev/haft/tool"
)

// open reports whether someone has to be asked.
func open(v tool.Verdict) bool { return v.Behavior == tool.Ask || v.Behavior == tool.NoView }

// approval is what an approval covers: the change that was shown. If nothing could be
// shown, a later preview is a different change.
func approval(p *tool.Preview, unclear error) string {
	if unclear != nil {
		return tool.Unseen
	}
	return p.Digest()
}

// maxAsked is how often one call is asked about: a file that changes each time is not
// waited for forever.
const maxAsked = 3

// changed is why a call that was approved is asked about again.
const changed = "the file was changed after the call was approved, so the call would now make a different change"

// nobody is the verdict if no one decides, with the reason. The model is told what the
// question was, because denying this call says nothing about the next one.
func nobody(c tool.Case, question tool.Verdict, why string) tool.Verdict {
	needs := cmp.Or(question.Reason, "it needs approval")
	v := tool.Verdict{
		Behavior: tool.Deny, Unasked: true,
		Reason: needs + ", and " + why, Rule: question.Rule, Origin: question.Origin, Suggestions: question.Suggestions,
	}
	v.Message = "Denied: " + v.Reason + "."
	if c.Unclear != nil && c.Tool.Command != nil { // a user would have been shown it
		v.Message += " A preview was not enough: " + c.Unclear.Error() + "."
	}
	v.Message += v.Remedy()
	return v
}
