package headless

import (
	"fmt"
	"io/fs"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// changeContext is how many unchanged lines surround a change on the wire.
const changeContext = 3

// ChangeOf is what a call would change, in the form of the wire; nil if that is not known.
func ChangeOf(p *tool.Preview) *wire.Change {
	if p == nil {
		return nil
	}
	c := &wire.Change{Digest: p.Digest(), Files: []wire.FileChange{}, Notes: p.Notes, Ran: p.Ran}
	for _, f := range p.Files {
		c.Files = append(c.Files, fileChange(f))
	}
	return c
}

func fileChange(f tool.FileChange) wire.FileChange {
	out := wire.FileChange{Path: f.Path, From: f.From, Before: version(f.Before), After: version(f.After), Protected: f.Protected}
	if out.Folded = f.Folded; out.Folded != "" {
		return out
	}
	before, after := shownText(f.Before), shownText(f.After)
	if len(before) > card.MaxDiff || len(after) > card.MaxDiff {
		return out
	}
	for _, h := range patch.Diff(before, after, changeContext) {
		out.Hunks = append(out.Hunks, wire.Hunk(h))
	}
	return out
}

func version(v *tool.Version) *wire.FileVersion {
	if v == nil {
		return nil
	}
	out := &wire.FileVersion{Size: v.Size, SHA256: v.Digest, Binary: v.Binary}
	if v.Mode != 0 {
		out.Mode = fmt.Sprintf("%04o", v.Mode.Perm())
	}
	if v.Mode&fs.ModeSymlink != 0 {
		out.Link = true
	}
	return out
}

func shownText(v *tool.Version) []byte {
	if v == nil {
		return nil
	}
	return v.Text
}
