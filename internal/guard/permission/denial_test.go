package permission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/tool"
)

// TestADenialSaysWhatStandsInTheWay: the mode where it is the mode, and the part of a command that matters.
func TestADenialSaysWhatStandsInTheWay(t *testing.T) {
	edit := called("Edit", json.RawMessage(`{"file_path":"/home/u/proj/a.go","old_string":"a","new_string":"b"}`))
	for _, c := range []struct {
		mode   permission.Mode
		call   tool.Case
		want   tool.Behavior
		reason string
	}{
		{permission.Default, edit, tool.Ask, "in default mode an edit needs approval"},
		{permission.DontAsk, edit, tool.Deny, "in dontAsk mode an edit needs approval, and dontAsk mode never asks"},
		{permission.Plan, edit, tool.Deny, "plan mode allows no changes"},
		{permission.Plan, bash("ls; echo x > out.txt"), tool.Deny, "plan mode allows no changes: it writes out.txt"},
		{permission.Plan, bash("ls && mkdir new"), tool.Deny, "plan mode allows no changes: mkdir new"},
		{permission.Plan, bash("ls && npm test"), tool.Ask, "plan mode allows no changes, and npm test is not known to be read-only"},
		{permission.Plan, bash("npm test"), tool.Ask, "plan mode allows no changes, and npm test is not known to be read-only"},
	} {
		t.Run(string(c.mode)+" "+c.reason, func(t *testing.T) {
			d := permission.NewPolicy(permission.Options{Mode: c.mode, Guard: virtualGuard(t)}).Decide(c.call)
			if d.Behavior != c.want || d.Reason != c.reason {
				t.Errorf("%v: %q, want %v: %q", d.Behavior, d.Reason, c.want, c.reason)
			}
		})
	}
}

// TestALinkIsNamedInTheQuestion: every front end shows the reason, and with it what would be changed.
func TestALinkIsNamedInTheQuestion(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	target, link := filepath.Join(dir, "target.txt"), filepath.Join(dir, "link.txt")
	if err := os.WriteFile(target, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target.txt", link); err != nil {
		t.Skip("no links here: ", err)
	}
	g, err := guard.New(&guard.Options{Roots: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	p := permission.NewPolicy(permission.Options{Mode: permission.Default, Guard: g})
	for path, want := range map[string]string{
		link:   "in default mode an edit needs approval; it is a link, and its target will be changed: " + target,
		target: "in default mode an edit needs approval",
	} {
		input, err := json.Marshal(map[string]string{"file_path": path, "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		if d := p.Decide(called("Write", input)); d.Behavior != tool.Ask || d.Reason != want {
			t.Errorf("%s: %v %q", path, d.Behavior, d.Reason)
		}
	}
}
