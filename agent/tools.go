package agent

import (
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// introduction begins what names tools that the model may look for.
const introduction = "These tools exist but are not described to you yet. Find the ones you need with ToolSearch before you call them:\n"

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
