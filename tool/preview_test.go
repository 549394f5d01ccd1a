package tool_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/haftdev/haft/tool"
)

func version(mode fs.FileMode, text string) *tool.Version {
	return tool.NewVersion(mode, []byte(text), []byte(text))
}

// TestEveryDifferenceHasADigest changes one thing at a time.
func TestEveryDifferenceHasADigest(t *testing.T) {
	base := func() *tool.Preview {
		return &tool.Preview{Files: []tool.FileChange{
			{Path: "/b", Before: version(0o644, "x"), After: version(0o644, "y")},
			{Path: "/a", From: "/c", Before: version(0o600, ""), After: version(0o600, "")},
		}}
	}
	want := base().Digest()
	swapped := base()
	swapped.Files[0], swapped.Files[1] = swapped.Files[1], swapped.Files[0]
	if swapped.Digest() != want {
		t.Error("the order of files counts")
	}
	other := base()
	other.Files[0].After.Text = []byte("the same, read in another way")
	if other.Digest() != want {
		t.Error("how people read it counts")
	}
	seen := map[string]int{want: -1, "": -2, (&tool.Preview{}).Digest(): -3}
	for i, change := range []func(*tool.Preview){
		func(p *tool.Preview) { p.Files[0].Path = "/d" },
		func(p *tool.Preview) { p.Files[1].From = "" },
		func(p *tool.Preview) { p.Files[1].From = "/d" },
		func(p *tool.Preview) { p.Files[0].Before = version(0o644, "z") },
		func(p *tool.Preview) { p.Files[0].After = version(0o644, "z") },
		func(p *tool.Preview) { p.Files[0].After.Mode = 0o755 },
		func(p *tool.Preview) { p.Files[0].Before.Mode = 0o755 },
		func(p *tool.Preview) { p.Files[0].Before = nil },
		func(p *tool.Preview) { p.Files[0].After = nil },
		func(p *tool.Preview) { p.Files[1].Before = nil },
		func(p *tool.Preview) { p.Files = p.Files[:1] },
		func(p *tool.Preview) { p.Files[0].After = version(fs.ModeSymlink|0o644, "y") },
	} {
		p := base()
		change(p)
		if was, ok := seen[p.Digest()]; ok {
			t.Errorf("change %d has the digest of %d", i, was)
		}
		seen[p.Digest()] = i
	}
}

func TestAPreviewThatCrashesIsAnError(t *testing.T) {
	broken := &tool.Tool{Name: "Broken", Preview: func(context.Context, *tool.Call) (*tool.Preview, error) { panic("oh") }}
	if p, err := broken.PreviewOf(t.Context(), &tool.Call{}); p != nil || err == nil || !strings.Contains(err.Error(), "oh") {
		t.Errorf("%v, %v", p, err)
	}
}

func TestOnlyTheApprovedChangeIsMade(t *testing.T) {
	one := &tool.Preview{Files: []tool.FileChange{{Path: "/a", After: version(0, "1")}}}
	two := &tool.Preview{Files: []tool.FileChange{{Path: "/a", After: version(0, "2")}}}
	for approved, wants := range map[string]map[*tool.Preview]bool{
		"":           {one: true, two: true, nil: true},
		one.Digest(): {one: true, two: false, nil: false},
		tool.Unseen:  {one: false, nil: false},
	} {
		for p, want := range wants {
			err := (&tool.Call{Approved: approved}).Approve(p)
			if (err == nil) != want || err != nil && !errors.Is(err, tool.ErrUnapproved) {
				t.Errorf("approved %.6q, made %.6q: %v", approved, p.Digest(), err)
			}
		}
	}
}
