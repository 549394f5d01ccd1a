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

// A folder that mktemp has just made can be removed: it is a new one in a temporary directory.
func TestWhatMktempMadeMayGo(t *testing.T) {
	for command, critical := range map[string]bool{
		`d=$(mktemp -d); rm -rf "$d"`:                       false,
		`d=$(mktemp -d) && cd sub && rm -rf $d/*`:           false,
		`d=$(mktemp -d /tmp/x.XXXX); rm -r $d`:              false,
		`d=$(mktemp -dt x.XXXX); trap 'rm -rf "$d"' EXIT`:   false,
		`d=$(mktemp -d -p .); rm -rf $d`:                    true,
		`d=$(mktemp -d /tmp/../h/XXXX); rm -rf $d`:          true,
		`mktemp() { echo /; }; d=$(mktemp -d); rm -rf $d`:   true,
		`alias mktemp='echo /'; d=$(mktemp -d); rm -rf $d`:  true,
		`d=$(mktemp -d); d=$(cat where); rm -rf $d`:         true,
		`d=$(mktemp -d); [ -n "$1" ] && d=$HOME; rm -rf $d`: true,
	} {
		if a := Analyze(command, &Options{Cwd: "/p", Home: "/h", Roots: []string{"/p"}}); (a.Critical != "") != critical {
			t.Errorf("%s: %q", command, a.Critical)
		}
	}
}
