package docs

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestEveryGuideIsInOneGroup compares the groups with the files: a guide that no group lists would be found by nobody.
func TestEveryGuideIsInOneGroup(t *testing.T) {
	var listed, files []string
	for _, g := range groups {
		listed = append(listed, g.topics...)
	}
	for _, dir := range []string{".", "dev"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name, ok := strings.CutSuffix(e.Name(), ".md"); ok {
				files = append(files, name)
			}
		}
	}
	slices.Sort(listed)
	slices.Sort(files)
	if !slices.Equal(listed, files) {
		t.Errorf("the groups list %q, and the guides are %q", listed, files)
	}
}

func TestChineseReadersGetChineseGuides(t *testing.T) {
	use := Groups("zh")[0]
	for name, want := range map[string]bool{"zh/permissions": true, "zh/first-steps": true, "permissions": false, "hooks": true} {
		if got := slices.ContainsFunc(use.Topics, func(t Topic) bool { return t.Name == name }); got != want {
			t.Errorf("%s is listed: %v", name, got)
		}
	}
}

// TestGuidesAreShort keeps the guides readable: one that grows takes words from another. A bar of a table and a dash
// are no words.
func TestGuidesAreShort(t *testing.T) {
	const most = 55_000
	total := 0
	for _, topic := range Topics() {
		for word := range strings.FieldsSeq(topic.Text) {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				total++
			}
		}
	}
	if total > most {
		t.Errorf("the guides have %d words, more than %d", total, most)
	}
	t.Logf("%d words", total)
}
