package permission

import (
	"encoding/json"
	"slices"
)

// The rule language knows some tools by name, because people write rules about
// what such a tool is given: a command, a path, an address.
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

type fileTool struct {
	kind  toolKind
	field string // of the input, that holds the path
}

var fileTools = map[string]fileTool{
	"Read":         {readTool, "file_path"},
	"Grep":         {readTool, "path"},
	"Glob":         {readTool, "path"},
	"Edit":         {editTool, "file_path"},
	"MultiEdit":    {editTool, "file_path"},
	"Write":        {editTool, "file_path"},
	"NotebookEdit": {editTool, "notebook_path"},
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
	return fileTools[name].kind
}

// A subject is a call as rules see it.
type subject struct {
	name    string
	kind    toolKind
	command string
	path    string
	url     string
	params  map[string]any
}

// newSubject reads a call. An input that is not an object has no parameters, and
// matches no rule about them.
func newSubject(name string, input json.RawMessage) subject {
	s := subject{name: canonical(name)}
	s.kind = kindOf(s.name)
	if err := json.Unmarshal(input, &s.params); err != nil {
		s.params = nil
	}
	switch s.kind {
	case commandTool:
		s.command = s.text("command")
	case webTool:
		s.url = s.text("url")
	case readTool, editTool:
		s.path = s.text(fileTools[s.name].field)
		if s.path == "" && slices.Contains([]string{"Grep", "Glob"}, s.name) {
			s.path = "."
		}
		if s.path == "" {
			s.path = s.text("path") // an older name of the field
		}
	}
	return s
}

func (s *subject) text(field string) string {
	v, _ := s.params[field].(string)
	return v
}
