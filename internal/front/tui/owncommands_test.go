package tui

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/drive"
)

// The guide lists exactly the commands that only the terminal has.
func TestTheGuideListsTheTerminalsCommands(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/skills.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(guide), "The terminal also has `")
	list, _, _ = strings.Cut(list, "`")
	var own []string
	for _, c := range drive.ScreenCommands() {
		own = append(own, "/"+c.Name)
	}
	slices.Sort(own)
	if d := cmp.Diff(own, strings.Fields(list)); d != "" {
		t.Errorf("docs/skills.md (-program +guide):\n%s", d)
	}
}
