package permission

import (
	"encoding/json"

	"github.com/haftdev/haft/tool"
)

// The rule language knows some tools by name, because users write rules about what such a
// tool is given: a command, a path, an address. The tool says what a call is given.
type toolKind int

const (
	otherTool toolKind = iota
	commandTool
	readTool
	editTool
	webTool
)

// The names under which rules about paths are written.
const (
	readRule = "Read"
	editRule = "Edit"
)

// codeTool evaluates code, which is not read before it runs.
const codeTool = "REPL"

// fileTools have no rules of their own: rules about paths apply to all of them, and to
// every other tool that says which files it touches.
var fileTools = map[string]toolKind{
	"Read": readTool, "Grep": readTool, "Glob": readTool,
	"Edit": editTool, "MultiEdit": editTool, "Write": editTool, "NotebookEdit": editTool,
}

// older names that rules may still use.
var olderNames = map[string]string{
	"Task": "Agent", "KillBash": "KillShell", "TaskStop": "KillShell", "TaskOutput": "BashOutput", "LS": "Glob", "NotebookRead": "Read",
}

func canonical(name string) string {
	if newer := olderNames[name]; newer != "" {
		return newer
	}
	return name
}

func kindOf(name string) toolKind {
	switch name {
	case "Bash":
		return commandTool
	case "WebFetch":
		return webTool
	}
	return fileTools[name]
}

// A subject is a call as rules see it.
type subject struct {
	tool.Facts
	name   string
	kind   toolKind
	params map[string]any // those that users name in rules
}

// newSubject asks the tool what the call is about. A tool that does not say, or is not
// known, is judged by its name and its parameters. An input that is not an object has no
// parameters, and matches no rule about them.
func newSubject(t *tool.Tool, c *tool.Call) subject {
	s := subject{name: canonical(c.Tool)}
	if err := json.Unmarshal(c.Input, &s.params); err != nil {
		s.params = nil
	}
	if t == nil {
		return s
	}
	s.Facts = *t.FactsOf(c)
	switch kind := kindOf(s.name); {
	case kind == commandTool && t.Command != nil, kind == webTool && t.Address != nil:
		s.kind = kind
	case kind == commandTool || kind == webTool:
	case len(s.Paths.Writes) > 0 || kind == editTool:
		s.kind = editTool
	case len(s.Paths.Reads) > 0 || kind == readTool:
		s.kind = readTool
	}
	return s
}
