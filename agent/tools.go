package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// sealTools fixes the tools as the provider will have cached them from the next request on.
// Before that, references in results are adjusted to the available tools: an API refuses a
// reference to a missing one. It is called with mu held.
func (a *Agent) sealTools() {
	if a.set.tools.Sealed() {
		return
	}
	a.talk.settleReferences(a.set.tools)
	a.set.tools = a.set.tools.Seal()
}

// loadTools describes tools that a prompt is about, if the conversation has not begun.
// Later the model searches for them.
func (a *Agent) loadTools(names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.set.tools.Sealed() {
		a.set.tools = a.set.tools.Load(names...)
	}
}

// withRevealed returns a set in which the model knows the tools that it has found before.
// Those that the conversation no longer introduces are loaded with the rest. It is called
// with mu held.
func (a *Agent) withRevealed(s *tool.Set) *tool.Set {
	var found, lost []string
	for _, name := range a.revealed {
		if a.talk.introduces(name) {
			found = append(found, name)
		} else {
			lost = append(lost, name)
		}
	}
	if found == nil && lost == nil {
		return s
	}
	return s.Load(lost...).Reveal(found...)
}

// toolNews is what the model should know about tools that are not described to it, or that
// have changed. Each thing is said once.
func (t *turn) toolNews() (news []string) {
	set := t.a.Tools()
	var late []*tool.Tool
	for _, d := range set.Deferred() {
		if !t.a.named[d.Name] {
			t.a.named[d.Name] = true
			late = append(late, d)
		}
	}
	if len(late) > 0 {
		news = append(news, introduce(set, late))
	}
	for _, n := range set.News() {
		if !t.a.named[n] {
			t.a.named[n] = true
			news = append(news, n)
		}
	}
	return news
}

// introduction begins what names tools that the model may look for.
const introduction = "These tools exist but are not described to you yet. Find the ones you need with ToolSearch before you call them:\n"

// recallNames finds the tools that a resumed conversation knows by name.
func (a *Agent) recallNames(h *model.History) {
	for _, note := range Reminders(h) {
		a.named[note] = true
		if names, ok := strings.CutPrefix(note, introduction); ok {
			for _, name := range strings.Split(names, "\n") {
				a.named[name] = true
			}
		}
	}
}

// maxIntroduced limits what is said about tools that cannot be searched for, in bytes.
const maxIntroduced = 20_000

// introduce names tools that are not described. If the model cannot search for them, it
// describes them too.
func introduce(set *tool.Set, late []*tool.Tool) string {
	var lines []string
	for _, d := range late {
		lines = append(lines, d.Name)
	}
	if set.Lookup(tool.SearchName) != nil {
		return introduction + strings.Join(lines, "\n")
	}
	left := maxIntroduced
	for i, d := range late {
		text := d.Name + ": " + strings.TrimSpace(set.Description(d)) + "\n" + set.Hint(d)
		if left -= len(text); left >= 0 {
			lines[i] = text
		}
	}
	return "These tools are new:\n" + strings.Join(lines, "\n")
}

// aboutReferences reports whether a request was refused because of the way in which tools
// are loaded.
func aboutReferences(e *model.Error) bool {
	message := strings.ToLower(e.Message)
	return slices.ContainsFunc([]string{"tool_reference", "tool reference", "defer_loading", "advanced-tool-use"}, func(part string) bool {
		return strings.Contains(message, part)
	})
}

// loadPlainly continues without references to tools, which the server does not take.
func (a *Agent) loadPlainly(e *model.Error) {
	a.mu.Lock()
	a.set.tools = a.set.tools.Plain()
	a.talk.settleReferences(a.set.tools)
	a.mu.Unlock()
	a.note(StatePlain, true)
	a.out.put(Notice{Level: "info", Tag: "tools", Text: fmt.Sprintf("The model's server does not support tool references (%s). From now on, ToolSearch results include tool descriptions.", e.Message)})
}
