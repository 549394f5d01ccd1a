package shell

import (
	"slices"
	"testing"
)

// TestHandFoundHoles runs the commands of testdata/holes.jsonl: attacks that
// reviewers found, each beside honest commands that look alike.
func TestHandFoundHoles(t *testing.T) {
	for name, opts := range settings {
		t.Run(name, func(t *testing.T) {
			for _, l := range labels(t, "testdata/holes.jsonl") {
				a := Analyze(l.Cmd, opts)
				if a.ReadOnly != l.ReadOnly {
					t.Errorf("%s: %q: read-only %v, want %v: %s (%s)", l.Class, l.Cmd, a.ReadOnly, l.ReadOnly, l.Why, a.Reason)
				}
				if l.Deny != "" && !slices.ContainsFunc(a.Deny, func(c Command) bool { return c.Text == l.Deny }) {
					t.Errorf("%s: %q: deny rules do not see %q but %.300q", l.Class, l.Cmd, l.Deny, texts(a.Deny))
				}
				if l.Critical && a.Critical == "" {
					t.Errorf("%s: %q is not critical: %s", l.Class, l.Cmd, l.Why)
				}
			}
		})
	}
}
