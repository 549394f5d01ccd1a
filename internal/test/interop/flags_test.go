package interop_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helpFlag is a line of claude --help that describes a flag: its short name, its names and its value.
var helpFlag = regexp.MustCompile(`(?m)^  ((?:-\w, )?--[\w-]+(?:, --[\w-]+)*)(?: (<[^>]*>|\[[^\]]*\]))?`)

// TestTheRecordedFlagsAreComplete asks the reference for its flags: each is in the list that a test of internal/cli holds
// haft to, with the kind of its value and its short name.
func TestTheRecordedFlagsAreComplete(t *testing.T) {
	help := exec.CommandContext(t.Context(), reference(t), "--help")
	help.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := help.Output()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile("../../cli/testdata/reference-flags.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Split(strings.TrimSpace(string(raw)), "\n")
	found := 0
	for _, m := range helpFlag.FindAllStringSubmatch(string(out), -1) {
		kind := "none"
		switch value := m[2]; {
		case strings.HasSuffix(value, "...>"):
			kind = "list"
		case strings.HasPrefix(value, "<"):
			kind = "required"
		case strings.HasPrefix(value, "["):
			kind = "optional"
		}
		short := ""
		for _, name := range strings.Split(m[1], ", ") {
			if !strings.HasPrefix(name, "--") {
				short = " " + name
				continue
			}
			found++
			if want := name + " " + kind + short; !slices.Contains(recorded, want) {
				t.Errorf("the list has not: %s", want)
			}
		}
	}
	if found < 60 {
		t.Errorf("found only %d flags in:\n%s", found, out)
	}
}
