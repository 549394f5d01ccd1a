package permission_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// TestDenyRulesHoldForEveryCommand: whatever allows a command, it is confined to what the
// rules about files leave, or asked about where nothing confines it.
func TestDenyRulesHoldForEveryCommand(t *testing.T) {
	no := func() bool { return false }
	const command = "perl -e 1"
	allow := rule(tool.Allow, "Bash(perl:*)")
	for _, deny := range []string{"Read(./secrets/**)", "Edit(./secrets/**)"} {
		for _, c := range []struct {
			name   string
			opts   permission.Options
			want   tool.Behavior
			within tool.Confinement
		}{
			{"bypass", permission.Options{Mode: permission.Bypass}, tool.Allow, tool.Held},
			{"allowed by a rule", permission.Options{Rules: []permission.Rule{allow}}, tool.Allow, tool.Held},
			{"without the sandbox", permission.Options{Rules: []permission.Rule{allow}, Sandbox: permission.Sandbox{Off: true}}, tool.Allow, tool.Held},
			{"in the project", permission.Options{Rules: []permission.Rule{allow}, Sandbox: permission.Sandbox{Enabled: true}}, tool.Allow, tool.ProjectOnly},
			{"bypass, nothing holds", permission.Options{Mode: permission.Bypass, Sandbox: permission.Sandbox{Holds: no}}, tool.Deny, ""},
			{"allowed, nothing holds", permission.Options{Rules: []permission.Rule{allow}, Sandbox: permission.Sandbox{Holds: no}}, tool.Ask, tool.Unconfined},
		} {
			t.Run(deny+" "+c.name, func(t *testing.T) {
				d := heldPolicy(t, newRealPlace(t, "secrets/key", "a"), deny, c.opts).Decide(bash(command))
				if d.Behavior != c.want || d.Confinement != c.within {
					t.Errorf("%s (%s), confined to %q; want %s, %q", d.Behavior, d.Reason, d.Confinement, c.want, c.within)
				}
			})
		}
	}
	none := heldPolicy(t, newRealPlace(t, "a"), "Bash(rm:*)", permission.Options{Mode: permission.Bypass, Sandbox: permission.Sandbox{Holds: no}}).Decide(bash(command))
	if none.Behavior != tool.Allow || none.Confinement != tool.Unconfined {
		t.Errorf("without a rule about files: %s, confined to %q", none.Behavior, none.Confinement)
	}
}

func heldPolicy(t *testing.T, p realPlace, deny string, opts permission.Options) *permission.Policy {
	t.Helper()
	g, err := guard.New(&guard.Options{Roots: []string{p.dir}, Home: p.home})
	if err != nil {
		t.Fatal(err)
	}
	opts.Guard, opts.Home, opts.Rules = g, p.home, append(opts.Rules, rule(tool.Deny, deny))
	return permission.NewPolicy(opts)
}

// TestWhatIsHeld: other names of a held file are held, and so is what appears later.
func TestWhatIsHeld(t *testing.T) {
	p := newRealPlace(t, "sub/secrets/key", "a")
	in := func(name string) string { return filepath.Join(p.dir, name) }
	if err := os.Link(in("sub/secrets/key"), in("other")); err != nil {
		t.Fatal(err)
	}
	policy := heldPolicy(t, p, "Read(**/secrets/**)", permission.Options{})
	want := func(closed ...string) {
		t.Helper()
		held, err := policy.Held()
		slices.Sort(held.Closed)
		if err != nil || !slices.Equal(held.Closed, closed) || !slices.Contains(held.Pinned, in("sub")) || slices.Contains(held.Pinned, p.dir) {
			t.Errorf("held %+v, %v; want %q closed", held, err, closed)
		}
	}
	want(in("other"), in("sub/secrets"))
	if err := os.MkdirAll(in("new/secrets"), 0o755); err != nil {
		t.Fatal(err)
	}
	want(in("new/secrets"), in("other"), in("sub/secrets"))
}
