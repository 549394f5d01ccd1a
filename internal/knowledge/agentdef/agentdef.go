// Package agentdef is the agents that work can be given to: what each is for, the
// prompt it begins with, and what it may use. Running them is the agent loop's.
//
//	set := agentdef.New(agentdef.Options{Places: places, Trust: trusted})
//	d, err := set.Find("Explore")
//	allowed := d.Has("Bash")
//
// Definitions are Markdown files of the public format, what an SDK passes, and
// those that haft brings.
//
// Trust: it reads files through package knowledge, which asks before one of a
// project counts. A definition narrows what an agent may use; it cannot widen what
// the session allows, except by its permission mode, which the loop must hold
// against the session's.
//
// Sets and definitions are safe for concurrent use; there is nothing to close.
package agentdef

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
)

// A Definition is one agent. The JSON form is what an SDK passes.
type Definition struct {
	Name string `json:"name,omitempty"`
	// Description says when to give work to it.
	Description string `json:"description"`
	// Prompt is its system prompt.
	Prompt string `json:"prompt"`
	// Tools are those that it has; nil means all that the session has.
	Tools []string `json:"tools,omitempty"`
	// Denied are tools that it does not have.
	Denied []string `json:"disallowedTools,omitempty"`
	// Model is what it runs on; "" means that of the conversation that starts it.
	Model string `json:"model,omitempty"`
	// Effort is how hard it tries; "" means as the conversation that starts it.
	Effort string `json:"effort,omitempty"`
	// Mode is its permission mode; "" means that of the session.
	Mode string `json:"permissionMode,omitempty"`
	// Skills are loaded when it begins.
	Skills []string `json:"skills,omitempty"`
	// MaxTurns bounds its turns; 0 means the usual number.
	MaxTurns int `json:"maxTurns,omitempty"`
	// Background runs it beside the conversation.
	Background bool `json:"background,omitempty"`
	// Isolation is "worktree" for an agent that works in a copy of its own; "" means
	// none.
	Isolation string `json:"isolation,omitempty"`
	// Hooks run for its calls and at its end, written as in the settings; nil means none.
	Hooks json.RawMessage `json:"hooks,omitempty"`

	// Source is whose it is, Plugin what brings it, Path its file, Digest stands for all
	// that the file says; Builtin are haft's own.
	Source  settings.Source `json:"-"`
	Plugin  string          `json:"-"`
	Path    string          `json:"-"`
	Digest  string          `json:"-"`
	Builtin bool            `json:"-"`
}

// olderNames are names of tools that definitions may still use.
var olderNames = map[string]string{"Task": "Agent", "KillBash": "KillShell", "TaskStop": "KillShell", "TaskOutput": "BashOutput", "LS": "Glob", "NotebookRead": "Read"}

// Has reports whether the agent has a tool that the session has. What it is denied
// goes before what it is given.
func (d Definition) Has(tool string) bool {
	for _, entry := range d.Denied {
		// A denial of some uses, as Bash(rm:*), is a rule and takes nothing away.
		if !strings.Contains(entry, "(") && covers(entry, tool) {
			return false
		}
	}
	return d.Tools == nil || slices.ContainsFunc(d.Tools, func(entry string) bool { return covers(entry, tool) })
}

// covers reports whether an entry of a list is about a tool. An entry may be a
// rule, whose tool counts, an MCP server for all its tools, or a pattern.
func covers(entry, tool string) bool {
	name, _, _ := strings.Cut(entry, "(")
	name = strings.TrimSpace(name)
	if newer := olderNames[name]; newer != "" {
		name = newer
	}
	if name == tool || name == "*" {
		return true
	}
	if strings.HasPrefix(name, "mcp__") && strings.Count(name, "__") == 1 && strings.HasPrefix(tool, name+"__") {
		return true
	}
	ok, err := path.Match(name, tool)
	return err == nil && ok
}

// Rules returns the entries of its denials that are about some uses of a tool, for
// the agent's policy.
func (d Definition) Rules() []string {
	var rules []string
	for _, entry := range d.Denied {
		if strings.Contains(entry, "(") {
			rules = append(rules, entry)
		}
	}
	return rules
}

// Spawns returns the types of agents that it may start itself, as Agent(a, b) in
// its tools says; nil means any, if it has the tool at all.
func (d Definition) Spawns() []string {
	var types []string
	for _, entry := range d.Tools {
		name, spec, ok := strings.Cut(entry, "(")
		if name == "Task" {
			name = "Agent"
		}
		if ok && name == "Agent" {
			for t := range strings.SplitSeq(strings.TrimSuffix(spec, ")"), ",") {
				types = append(types, strings.TrimSpace(t))
			}
		}
	}
	return types
}

// HookTexts say what its hooks run and when, for people.
func (d Definition) HookTexts() []string {
	file, err := knowledge.ParseHooks(d.Source, d.Path, d.Hooks)
	if file == nil || err != nil {
		return nil // with an error it cannot work
	}
	return knowledge.HookTexts(file)
}

// check says what is missing for the definition to be of use.
func (d Definition) check() string {
	switch {
	case d.Description == "" && d.Plugin == "":
		return "an agent needs a description that says when to use it"
	case d.Prompt == "":
		return "an agent needs a prompt: the text below the front matter"
	}
	return ""
}

func fromPiece(p knowledge.Piece) Definition {
	f := p.Fields
	d := Definition{
		Name: p.Name, Description: f.Text("description"), Prompt: strings.TrimSpace(p.Body),
		Denied: f.List("disallowed-tools"), Model: f.Text("model"), Effort: f.Text("effort"), Mode: f.Text("permission-mode"),
		Skills: f.List("skills"), MaxTurns: f.Number("max-turns"), Background: f.Flag("background", false), Isolation: f.Text("isolation"),
		Source: p.Source, Plugin: p.Plugin, Path: p.Path, Digest: p.Digest,
	}
	if f.Has("hooks") {
		d.Hooks, _ = f.JSON("hooks") // a piece whose hooks cannot be read is left out
	}
	if f.Has("tools") {
		if d.Tools = f.List("tools"); d.Tools == nil {
			d.Tools = []string{} // none is not all
		}
	}
	if d.Description == "" && p.Plugin != "" { // as Claude Code does with a plugin's
		d.Description = cmp.Or(knowledge.FirstParagraph(p.Body), p.Name)
	}
	if d.Model == "inherit" {
		d.Model = ""
	}
	return d
}
