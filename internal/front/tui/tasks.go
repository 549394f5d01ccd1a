package tui

import (
	"io"
	"os"
	"strings"

	"github.com/haftdev/haft/agent"
)

// taskName is what a person calls something in the background.
func taskName(t agent.Task) string {
	if t.Type == "local_agent" && t.AgentType != "" {
		return t.AgentType + ", " + t.Description
	}
	if t.Description == "" {
		return t.ID
	}
	return strings.TrimRight(t.Description, "; &\n") // a command's own end
}

// tailOf returns the end of a file, from the beginning of a line.
func tailOf(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-most, 0)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return "", err
	}
	text := string(raw)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, nil
}
