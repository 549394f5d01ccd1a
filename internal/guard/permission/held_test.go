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

func heldPolicy(t testing.TB, p realPlace, deny string, opts permission.Options) *permission.Policy {
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

// TestHeldFollowsEveryChange: whatever makes a file one that a rule is about, or another, is seen.
func TestHeldFollowsEveryChange(t *testing.T) {
	p := newRealPlace(t, "sub/a.key", "sub/b", "c", "deep/er/x")
	in := func(name string) string { return filepath.Join(p.dir, name) }
	policy := heldPolicy(t, p, "Read(**/*.key)", permission.Options{Rules: []permission.Rule{rule(tool.Deny, "Edit(later/**)")}})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, closed ...string) {
		t.Helper()
		held, err := policy.Held()
		slices.Sort(held.Closed)
		for i := range closed {
			closed[i] = in(closed[i])
		}
		if err != nil || !slices.Equal(held.Closed, closed) {
			t.Errorf("after %s: held %q, %v; want %q", what, held.Closed, err, closed)
		}
	}
	want("the start", "sub/a.key")
	must(os.WriteFile(in("sub/plain"), nil, 0o600))
	want("a plain file", "sub/a.key")
	must(os.WriteFile(in("deep/er/n.key"), nil, 0o600))
	want("a new file", "deep/er/n.key", "sub/a.key")
	must(os.Rename(in("sub/b"), in("sub/b.KEY")))
	want("a rename", "deep/er/n.key", "sub/a.key", "sub/b.KEY")
	must(os.Link(in("sub/a.key"), in("other")))
	want("a link", "deep/er/n.key", "other", "sub/a.key", "sub/b.KEY")
	must(os.Rename(in("deep"), in("moved")))
	want("a move of a folder", "moved/er/n.key", "other", "sub/a.key", "sub/b.KEY")
	must(os.RemoveAll(in("moved")))
	want("a removal", "other", "sub/a.key", "sub/b.KEY")
	must(os.Mkdir(in("later"), 0o700))
	if held, err := policy.Held(); err != nil || !slices.Equal(held.Fixed, []string{in("later")}) {
		t.Errorf("a folder of a rule: %q, %v", held.Fixed, err)
	}
}
