// Package loading is what the tools share that load a written text into the
// conversation: what they tell who decides about it, and what they give back. It
// is pure and safe for concurrent use.
package loading

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/tool"
)

// A Text is a skill or a command as far as it matters for loading it.
type Text struct {
	// Kind and Name are what it is called, as in the skill pdf.
	Kind, Name string
	// Rule is the permission rule that is about it alone.
	Rule string
	// Allow are the rules that it brings, Commands those that loading it runs.
	Allow, Commands []string
	// Hooks say what its hooks run and when.
	Hooks []string
	// Model is what to continue with; "" means no other.
	Model string
	// Fork says that an agent of its own does the text, Isolated that it does so in a copy of
	// the repository.
	Fork, Isolated bool
}

// Verdict is the view of a tool that loads the text: text alone is harmless, and
// what grants or runs something is for a user to decide. Input is what is to run
// if they agree; nil changes nothing.
func (t Text) Verdict(input json.RawMessage) tool.Verdict {
	if len(t.Allow) == 0 && len(t.Commands) == 0 && len(t.Hooks) == 0 && !t.Isolated {
		return tool.Verdict{Behavior: tool.Allow, Input: input, Reason: fmt.Sprintf("the %s grants nothing and runs nothing", t.Kind)}
	}
	var asks []string
	if len(t.Allow) > 0 {
		asks = append(asks, "allows "+strings.Join(t.Allow, ", "))
	}
	if len(t.Commands) > 0 {
		asks = append(asks, "runs "+strings.Join(t.Commands, "; "))
	}
	if len(t.Hooks) > 0 {
		long := "for the rest of the session"
		if t.Fork {
			long = "while its agent works"
		}
		asks = append(asks, "has hooks "+long+" ("+strings.Join(t.Hooks, "; ")+")")
	}
	if t.Isolated {
		asks = append(asks, "gets its own worktree")
	}
	return tool.Verdict{
		Behavior: tool.Ask, Input: input, Message: fmt.Sprintf("the %s %s %s", t.Kind, t.Name, strings.Join(asks, " and ")),
		Suggestions: []tool.Suggestion{{Rule: t.Rule, Behavior: tool.Allow}},
	}
}

// maxText is how much of a text joins the conversation, in characters.
const maxText = 100_000

// Result is what loading gives back: a line for the model, the text as a message,
// and what the text changes. File is where the text can be read whole.
func (t Text) Result(text, file string) tool.Result {
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText]) + fmt.Sprintf("\n\n[%s not shown.", plural.Forms(len(r)-maxText, "more character is", "more characters are"))
		if file != "" {
			text += " Read the rest in " + file + "."
		}
		text += "]"
	}
	r := tool.Text(fmt.Sprintf("The %s %s is loaded. Its text follows; do what it says.", t.Kind, t.Name))
	r.Messages = []tool.Message{{Content: []tool.Block{{Type: tool.TextBlock, Text: text}}}}
	if len(t.Allow) > 0 || t.Model != "" {
		r.Change = &tool.Change{Allow: t.Allow, Model: t.Model}
	}
	return r
}

// ForAgent adds to the text what an agent of its own means for the one who decides about it.
func (t Text) ForAgent(crew subagent.Crew, c *tool.Call, f *subagent.Fork) Text {
	if f != nil && MayFork(crew, c) {
		t.Fork, t.Isolated = true, f.Isolated(crew)
	}
	return t
}
