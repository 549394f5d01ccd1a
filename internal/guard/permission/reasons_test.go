package permission_test

import (
	"os"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/text/lang"
)

// TestReasonsHaveTranslations judges commands of the corpora and looks for reasons that no
// catalogue could translate, because they are built from a format that is not known there.
func TestReasonsHaveTranslations(t *testing.T) {
	zh, err := lang.Load("zh")
	if err != nil {
		t.Fatal(err)
	}
	p := newRealPlace(t, "main.go", "README.md", "src/b.go", ".git/HEAD", ".git/config", ".env")
	reasons := map[string]string{}
	n := 0
	judge := func(tool, input string) {
		n++
		for i, mode := range []permission.Mode{permission.Default, permission.Plan, permission.DontAsk} {
			if i > 0 && n%20 > 0 {
				continue // what the mode adds is always the same
			}
			reasons[p.decide(t, mode, tool, input).Reason] = tool + " " + input
		}
	}
	for _, file := range []string{"testdata/everyday.txt", "../../shell/testdata/labelled.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if label, command, ok := strings.Cut(strings.TrimSpace(line), " "); ok && label != "#" {
				judge("Bash", bashInput(command))
			}
		}
	}
	for _, path := range []string{"main.go", ".env", ".git/config", "/etc/passwd", ".claude/settings.json"} {
		judge("Read", `{"file_path":"`+path+`"}`)
		judge("Write", `{"file_path":"`+path+`","content":"x"}`)
	}
	if len(reasons) < 300 {
		t.Fatalf("only %d reasons", len(reasons))
	}
	for reason, call := range reasons {
		if zh.Sentence(reason) == reason {
			t.Errorf("%q, the reason for %s, is in no catalogue: add its format to built in internal/text/lang", reason, call)
		}
	}
	t.Logf("%d reasons", len(reasons))
}
