package acp

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
)

// Bounds on what is shown of changes: clients refuse messages that are too long.
const (
	// maxText is how large a file may be, before and after, whose change is shown with
	// the whole of both. Of a larger one the places that change are shown.
	maxText = 256 << 10
	// maxDiffs is how much of all files is shown.
	maxDiffs = 8 << 20
)

// diffs are the changes of a preview, one for each file, with what a diff cannot say.
func diffs(p *tool.Preview) (list []any, places []location) {
	if p == nil {
		return nil, nil
	}
	files, summary := card.Changes(p, nil)
	changes := make(map[string]tool.FileChange)
	for _, f := range p.Files {
		changes[f.Path] = f
	}
	size, unshown := 0, 0
	for _, f := range files {
		if head := f.Head(); head != "" {
			summary = append(summary, head)
		}
		if len(f.Hunks) == 0 {
			continue
		}
		d := diff(f.Path, text(changes[f.Path].Before), text(changes[f.Path].After), f.Hunks)
		if size += d.size(); size > maxDiffs {
			unshown++
			continue
		}
		list = append(list, d)
		places = append(places, location{Path: f.Path, Line: firstLine(f.Hunks)})
	}
	if unshown > 0 {
		summary = append(summary, fmt.Sprintf("The changes to %s are too large to show here.", plural.Of(unshown, "more file")))
	}
	if len(summary) > 0 {
		list = append([]any{content(textOf(strings.Join(summary, "\n")))}, list...)
	}
	return list, places
}

// text is the text of a version; nil if there is no file.
func text(v *tool.Version) *string {
	if v == nil {
		return nil
	}
	s := string(v.Text)
	return &s
}

// diff is the change of one file. After is nil if it is deleted.
func diff(path string, before, after *string, hunks []patch.Hunk) diffItem {
	d := diffItem{Type: "diff", Path: path, OldText: before}
	if after != nil {
		d.NewText = *after
	}
	if before != nil && len(*before) > maxText || len(d.NewText) > maxText {
		old, now := places(hunks)
		if before != nil {
			d.OldText = &old
		}
		d.NewText = now
	}
	return d
}

// firstLine is the first line that changes, counted from 1.
func firstLine(hunks []patch.Hunk) int {
	line := hunks[0].NewStart
	for _, l := range hunks[0].Lines {
		if !strings.HasPrefix(l, " ") {
			break
		}
		line++
	}
	return max(line, 1)
}

// places are the lines of the hunks, before and after.
func places(hunks []patch.Hunk) (before, after string) {
	var a, b strings.Builder
	for _, h := range hunks {
		for _, l := range h.Lines {
			if l == "" || l[0] == '\\' {
				continue
			}
			if l[0] != '+' {
				a.WriteString(l[1:] + "\n")
			}
			if l[0] != '-' {
				b.WriteString(l[1:] + "\n")
			}
		}
	}
	return a.String(), b.String()
}
