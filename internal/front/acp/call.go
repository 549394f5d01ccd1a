package acp

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
)

// A call is one that the client knows of and that has not returned.
type call struct {
	id, agent string
	tool      *tool.Tool // nil if there is none of its name
	terminal  bool       // its output is shown in a terminal
	file      string     // that it changes; "" for none, and for several
}

// kinds are those of haft's own tools that their contract does not tell.
var kinds = map[string]string{
	"Grep": "search", "Glob": "search", "ToolSearch": "search", "WebSearch": "search",
	"Agent": "think", "Skill": "think", "SlashCommand": "think", "TodoWrite": "think",
	"EnterPlanMode": "switch_mode", "ExitPlanMode": "switch_mode", "REPL": "execute",
}

// kindOf sorts a call as editors do: by what its tool says about it.
func kindOf(t *tool.Tool, c *tool.Call) string {
	if t == nil {
		return "other"
	}
	if kind, ok := kinds[t.Name]; ok && t.Source == "" {
		return kind
	}
	paths := pathsOf(t, c)
	switch {
	case t.Command != nil:
		return "execute"
	case t.Address != nil:
		return "fetch"
	case len(paths.Writes) > 0:
		return "edit"
	case len(paths.Reads) > 0:
		return "read"
	}
	return "other"
}

// pathsOf are what a call touches; a tool that fails at telling it touches nothing.
func pathsOf(t *tool.Tool, c *tool.Call) (p tool.Paths) {
	defer func() {
		if recover() != nil {
			p = tool.Paths{}
		}
	}()
	return t.PathsOf(c)
}

// commandOf is what a call would run; "" if it runs nothing, or cannot tell.
func commandOf(t *tool.Tool, c *tool.Call) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	if t == nil || t.Command == nil {
		return ""
	}
	return t.Command(c)
}

// describe is what is known of a call before it runs.
func (s *session) describe(set *tool.Set, t *tool.Tool, c *tool.Call) callUpdate {
	u := callUpdate{ID: c.UseID, Name: c.Tool, Kind: kindOf(t, c), RawInput: rawInput(c.Input)}
	u.Title = card.Of(set, c.UseID, c.Tool, c.Input).String()
	if command := commandOf(t, c); command != "" {
		u.Title = code(command)
	}
	if t != nil {
		for _, path := range pathsOf(t, c).All() {
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.talk.World.Shell.Dir(c.Agent), path)
			}
			u.Locations = append(u.Locations, location{Path: path})
		}
	}
	if parent, ok := s.parents.Load(c.Agent); ok {
		u.Meta = map[string]any{"parentToolCallId": parent}
	}
	return u
}

// rawInput is an input as JSON, whatever a model wrote.
func rawInput(input json.RawMessage) json.RawMessage {
	if len(input) == 0 {
		return nil
	}
	if json.Valid(input) {
		return input
	}
	raw, err := json.Marshal(string(input))
	if err != nil {
		return nil
	}
	return raw
}

// code is a text in one line of Markdown, as code.
func code(text string) string {
	text = shorten.To(visible.Text(strings.Join(strings.Fields(text), " ")), 200)
	ticks := strings.Repeat("`", longest(text, '`')+1)
	if len(ticks) > 1 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}

// fence is a text as it is, in Markdown.
func fence(language, text string) string {
	ticks := strings.Repeat("`", max(3, longest(text, '`')+1))
	return ticks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + ticks
}

// longest is the longest run of a character in a text.
func longest(text string, c rune) (most int) {
	n := 0
	for _, r := range text {
		if n++; r != c {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// changed is what a preview of a call showed, if it was asked about.
func (s *session) changed(useID string) *tool.Preview {
	if p, ok := s.previews.LoadAndDelete(useID); ok {
		return p.(*tool.Preview)
	}
	return nil
}
