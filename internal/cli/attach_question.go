package cli

import (
	"io/fs"
	"slices"
	"strconv"

	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// changeOf is a change without the contents of files, and the hunks of each file.
func changeOf(c *wire.Change) (p *tool.Preview, hunks [][]patch.Hunk) {
	p = &tool.Preview{Notes: c.Notes, Ran: c.Ran}
	for _, f := range c.Files {
		p.Files = append(p.Files, tool.FileChange{Path: f.Path, From: f.From, Before: versionOf(f.Before), After: versionOf(f.After), Folded: f.Folded, Protected: f.Protected})
		var list []patch.Hunk
		for _, h := range f.Hunks {
			h.Lines = slices.DeleteFunc(slices.Clone(h.Lines), func(l string) bool { return l == "" }) // each begins with its kind
			list = append(list, patch.Hunk(h))
		}
		hunks = append(hunks, list)
	}
	return p, hunks
}

func versionOf(v *wire.FileVersion) *tool.Version {
	if v == nil {
		return nil
	}
	mode, _ := strconv.ParseUint(v.Mode, 8, 12) // none is the usual one
	out := &tool.Version{Mode: fs.FileMode(mode).Perm(), Size: v.Size, Digest: v.SHA256, Binary: v.Binary}
	if v.Link {
		out.Mode |= fs.ModeSymlink
	}
	return out
}
