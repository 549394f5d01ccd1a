package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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

// What a Chinese guide names as code is in the English one, too: a flag, a rule or a file that is renamed there is not
// forgotten here.
func TestChineseGuidesAreInStep(t *testing.T) {
	for name, english := range map[string][]string{
		"permissions": {"permissions"}, "preview": {"preview"}, "models": {"models"},
		"first-steps": {"first-hour", "install", "terminal", "permissions", "sessions", "models", "cli", "../README"},
	} {
		text := read(t, "zh/"+name+".md")
		var there strings.Builder
		for _, e := range english {
			there.WriteString(read(t, e+".md"))
		}
		spans := 0
		for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
			if strings.ContainsFunc(m[1], func(r rune) bool { return r > unicode.MaxLatin1 }) {
				continue // a placeholder in Chinese
			}
			if spans++; !strings.Contains(there.String(), m[1]) {
				t.Errorf("zh/%s.md has %s, which is not in %v", name, m[1], english)
			}
		}
		if spans < 5 {
			t.Errorf("zh/%s.md has only %d pieces of code", name, spans)
		}
	}
}

// The guide about settings lists the environment variables of haft's own that the program reads.
func TestTheGuideListsTheEnvironment(t *testing.T) {
	guide := read(t, "settings.md")
	named := regexp.MustCompile(`"(HAFT_[A-Z_]+)[="]`)
	internal := regexp.MustCompile(`^HAFT_(BENCH|TEST|SHELLRUN|MCPUSER)_|^HAFT_(NIGHTLY|PEERS|THOROUGH|LOOKS)$|_$`) // of tests, or between processes of haft
	found := map[string]bool{}
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "bench", "fleet", "testdata", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source := read(t, path)
		all.WriteString(source)
		for _, m := range named.FindAllStringSubmatch(source, -1) {
			found[m[1]] = !internal.MatchString(m[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, documented := range found {
		if documented && !strings.Contains(guide, "`"+name+"`") {
			t.Errorf("docs/settings.md does not list %s", name)
		}
	}
	for _, m := range regexp.MustCompile("`HAFT_([A-Z_]+)`").FindAllStringSubmatch(guide, -1) {
		if _, ok := found["HAFT_"+m[1]]; !ok && !strings.Contains(all.String(), `"`+m[1]+`"`) {
			t.Errorf("docs/settings.md lists %s, which the program does not read", "HAFT_"+m[1])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestGuidesAreShort keeps what is written in English below this folder readable: a page that grows takes words from
// another. Code counts; a bar of a table and a dash are no words.
func TestGuidesAreShort(t *testing.T) {
	const most = 55_000
	total, files := 0, 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "zh":
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		files++
		for word := range strings.FieldsSeq(read(t, path)) {
			if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				total++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if total > most || files <= len(Topics()) {
		t.Errorf("%d pages have %d words, more than %d", files, total, most)
	}
	t.Logf("%d words on %d pages", total, files)
}
