package instructions

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The guide lists exactly the files that are read.
func TestTheGuideNamesTheFiles(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(guide), "\n| instructions |")
	row, _, _ = strings.Cut(row, "\n")
	var documented, read []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
		documented = append(documented, m[1])
	}
	for _, n := range userNames {
		read = append(read, "~/"+n)
	}
	for _, n := range names {
		read = append(read, n.path)
	}
	if d := cmp.Diff(read, documented); d != "" {
		t.Errorf("docs/skills.md (-program +guide):\n%s", d)
	}
}
