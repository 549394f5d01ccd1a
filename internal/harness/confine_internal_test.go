package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// TestNothingRunsWhereWhatIsHeldIsNotKnown: between a verdict that relies on the kernel and the
// run, a rule may come to cover more files than can be held.
func TestNothingRunsWhereWhatIsHeldIsNotKnown(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "a.key")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(key)
	g, err := guard.New(&guard.Options{Roots: []string{dir}, Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	engine := permission.NewEngine(permission.Options{Guard: g, Dir: func(string) string { return dir }, Rules: []permission.Rule{{Text: "Read(*.key)", Behavior: tool.Deny}}})
	host := shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), NoProfile: true})
	defer host.Close()
	c := &confiner{engine: func() *permission.Engine { return engine }, host: host}
	if host.Holds() {
		if spec := c.box(tool.Held); spec.Check() != nil || len(spec.Deny) != 1 {
			t.Fatalf("the box is %+v", spec)
		}
	}
	for i := range 1001 {
		write(filepath.Join(dir, fmt.Sprintf("%d.key", i)))
	}
	spec := c.box(tool.Held)
	if spec == nil || spec.Check() == nil || !strings.Contains(spec.Check().Error(), "too many files") {
		t.Fatalf("the box is %+v", spec)
	}
	if held, err := engine.Policy().Held(); err == nil || host.Holds() && len(held.Closed) != 1 {
		t.Errorf("held %v, %v", held, err)
	}
}
