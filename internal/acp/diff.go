package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/card"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/sched"
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
	files, summary := card.Changes(p)
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
		summary = append(summary, fmt.Sprintf("The changes of %d more files are too large to be shown here.", unshown))
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

func (d *diffItem) size() int {
	n := len(d.NewText)
	if d.OldText != nil {
		n += len(*d.OldText)
	}
	return n
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

// made is what a call has changed: what the user was shown and has approved, and
// otherwise what its output says. Of a call that the user has denied it is what they
// denied.
func made(out *sched.Outcome, asked *tool.Preview) ([]any, []location) {
	switch {
	case asked != nil && (!out.IsError() || out.Status == sched.Denied):
		return diffs(asked)
	case out.IsError(), out.Result.Output == nil:
		return nil, nil
	}
	raw, err := json.Marshal(out.Result.Output)
	if err != nil {
		return nil, nil
	}
	return madeOf(raw)
}

// madeOf finds the change of a file in the output of a tool that makes one.
func madeOf(output json.RawMessage) ([]any, []location) {
	var o struct {
		Type     string       `json:"type"`
		Path     string       `json:"filePath"`
		Notebook string       `json:"notebook_path"`
		Content  string       `json:"content"`
		Before   *string      `json:"originalFile"`
		Cells    *string      `json:"original_file"`
		Hunks    []patch.Hunk `json:"structuredPatch"`
	}
	if json.Unmarshal(output, &o) != nil {
		return nil, nil
	}
	path, before := cmp.Or(o.Path, o.Notebook), cmp.Or(o.Before, o.Cells)
	switch {
	case path == "":
	case o.Type == "create":
		return []any{diff(path, nil, &o.Content, nil)}, []location{{Path: path, Line: 1}}
	case len(o.Hunks) > 0 && before != nil:
		old, now := places(o.Hunks)
		if after, err := patch.Apply([]byte(*before), o.Hunks); err == nil {
			old, now = *before, string(after)
		}
		return []any{diff(path, &old, &now, o.Hunks)}, []location{{Path: path, Line: firstLine(o.Hunks)}}
	}
	return nil, nil
}
