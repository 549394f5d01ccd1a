package harness_test

import (
	"testing"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness"
)

// A hook may change the repository before the first request, so that nothing is looked up before it ran.
func TestNothingIsLookedUpBeforeHooks(t *testing.T) {
	for name, c := range map[string]struct {
		o    harness.Options
		want bool
	}{
		"a prompt waits":       {harness.Options{Prompted: true}, true},
		"no prompt waits":      {harness.Options{}, false},
		"a hook may run first": {harness.Options{Prompted: true, Hooks: []hook.Hook{{Event: "SessionStart", Command: "true"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			c.o.Dir = t.TempDir()
			w, err := harness.Open(&c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if w.LooksAhead() != c.want {
				t.Errorf("looked up: %v, want %v", w.LooksAhead(), c.want)
			}
		})
	}
}
