package house

import (
	"regexp"
	"strings"
	"testing"
)

// Whether a path is in a folder is a question of guards, and was answered in a dozen
// ways with a dozen mistakes. internal/sys/pathin has the one answer.
func TestPathContainmentIsAskedInOnePlace(t *testing.T) {
	byHand := regexp.MustCompile(`filepath\.Rel\([^\n]*\n?[^\n]*\n?[^\n]*filepath\.IsLocal\(|strings\.HasPrefix\([^\n]*\+(string\()?(filepath\.Separator|os\.PathSeparator)`)
	for _, name := range textFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/sys/pathin/") {
			continue
		}
		text := readFile(t, name)
		for _, at := range byHand.FindAllStringIndex(text, -1) {
			t.Errorf("%s:%d: use pathin.Contains, or pathin.Below for what is left of the path", name, 1+strings.Count(text[:at[0]], "\n"))
		}
	}
}
