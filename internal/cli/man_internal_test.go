package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestEveryCommandHasAManPage(t *testing.T) {
	dir := t.TempDir()
	root := newRoot(Streams{}, shellrun.Reexec{})
	if err := writeManPages(dir, root); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		seen++
		page, err := os.ReadFile(filepath.Join(dir, manName(c)+".1"))
		if err != nil || !strings.Contains(string(page), roff(c.Short)) {
			t.Errorf("%s: the page lacks %q (%v)", c.CommandPath(), c.Short, err)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(root)
	if pages, _ := filepath.Glob(filepath.Join(dir, "*")); len(pages) != seen || seen < 30 {
		t.Errorf("%d pages for %d commands", len(pages), seen)
	}
}

// The formatter finds no fault in any page, and shows text as it was written.
func TestManPagesAreWellFormed(t *testing.T) {
	groff := needtest.Program(t, "groff")
	dir := t.TempDir()
	root := newRoot(Streams{}, shellrun.Reexec{})
	odd := &cobra.Command{Use: "odd", Short: "Show the odd", Run: func(*cobra.Command, []string) {}, Long: ".SH is no heading\n'quoted' \\fB --flag ~/x ^y `z` \"q\" …"}
	root.AddCommand(odd)
	if err := writeManPages(dir, root); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	if out, err := exec.Command(groff, append([]string{"-man", "-ww", "-Tutf8", "-z"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff complains: %v\n%s", err, out)
	}
	out, err := exec.Command(groff, "-man", "-Tutf8", "-P-cbou", filepath.Join(dir, "haft-odd.1")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(odd.Long) {
		if !strings.Contains(string(out), strings.TrimSpace(line)) {
			t.Errorf("the page does not show %q:\n%s", line, out)
		}
	}
}
