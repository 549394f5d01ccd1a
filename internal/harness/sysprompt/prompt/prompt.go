// Package prompt writes what a model is told before a user says anything: the
// system prompt, which stays the same for a whole conversation, and facts about
// the session, which go into messages because they change.
//
//	o := &agent.Options{System: prompt.System(&prompt.Options{Tools: set})}
//	facts := prompt.NewFacts(&prompt.FactsOptions{Dir: cwd, Instructions: text})
//	o.Facts = facts.Tell
//
// A provider caches a request by its first bytes. Apart from the facts, nothing here depends
// on the clock or anything else that changes. A fact is never altered once it has been sent; a
// new value is sent as a new message.
//
// Facts belong to one conversation; everything else is safe for concurrent use.
package prompt

import (
	_ "embed"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

//go:embed system.md
var own string

// Options choose a system prompt.
type Options struct {
	// Custom replaces haft's own prompt; nil keeps it, and an empty one means none.
	Custom *string
	// Style changes how haft's own prompt tells the model to answer; nil means haft's default.
	Style *Style
	// Append is added at the end.
	Append string
	// Tools are those of the first turn, whose guidance haft's own prompt includes;
	// nil means none.
	Tools *tool.Set
}

// A Style is a way to answer. Its text follows haft's own prompt and replaces the instruction
// to answer briefly.
type Style struct {
	Text string
	// Coding keeps the instructions of haft's own prompt about work on code.
	Coding bool
}

// System returns the system prompt; nil if there is none.
func System(opts *Options) []model.System {
	var o Options
	if opts != nil {
		o = *opts
	}
	var parts []string
	if o.Custom != nil {
		parts = append(parts, *o.Custom)
	} else {
		parts = append(parts, ownFor(o.Style), guidance(o.Tools))
		if o.Style != nil {
			parts = append(parts, o.Style.Text)
		}
	}
	text := join(append(parts, o.Append))
	if text == "" {
		return nil
	}
	return []model.System{{Text: text, Cache: true}}
}

// ownFor is haft's own prompt without what a style takes the place of. A line says what it
// is about in brackets, if that matters.
func ownFor(s *Style) string {
	var b strings.Builder
	for line := range strings.Lines(own) {
		if rest, ok := strings.CutPrefix(line, "- [brief] "); ok {
			if s != nil {
				continue
			}
			line = "- " + rest
		}
		if rest, ok := strings.CutPrefix(line, "- [code] "); ok {
			if s != nil && !s.Coding {
				continue
			}
			line = "- " + rest
		}
		b.WriteString(line)
	}
	return b.String()
}

// guidance is what the tools have to say beyond their descriptions.
func guidance(tools *tool.Set) string {
	if tools == nil {
		return ""
	}
	var parts []string
	for _, t := range tools.All() {
		if t.Prompt != nil {
			parts = append(parts, t.Prompt(tools.Session()))
		}
	}
	return join(parts)
}

// join puts the parts that say something into paragraphs.
func join(parts []string) string {
	var said []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			said = append(said, p)
		}
	}
	return strings.Join(said, "\n\n")
}
