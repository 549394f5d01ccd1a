package house

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

func TestFixturesSayWhatTheyPin(t *testing.T) {
	var findings []string
	for _, name := range textFiles(t) {
		if isScript(name) && !opensWithComment(readFile(t, name)) {
			findings = append(findings, fmt.Sprintf("%s:1: the first line is no comment", name))
		}
	}
	report(t, findings, "Open the file with a line \"# …\": one sentence on what it pins, for whoever must decide whether to -update it.")
}

// isScript reports whether a file is a script or a dialogue that tests play.
func isScript(name string) bool {
	dir, ext := "/"+path.Dir(name)+"/", path.Ext(name)
	return strings.Contains(dir, "/testdata/") && ext == ".txtar" ||
		strings.HasSuffix(dir, "/testdata/script/") && ext == ".txt"
}

func opensWithComment(text string) bool {
	text, comment := strings.CutPrefix(strings.TrimSpace(text), "#")
	first, _, _ := strings.Cut(text, "\n")
	return comment && strings.TrimSpace(first) != ""
}
