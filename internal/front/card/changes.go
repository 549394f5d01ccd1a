package card

import (
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/tool"
)

// maxShown is how many files of a change are shown one by one.
const maxShown = 300

// Changes returns the files of a change and lines about all of it. Files of git
// itself are in the lines only. Words are the language, nil is English.
func Changes(p *tool.Preview, words *lang.Catalogue) (files []FileDiff, summary []string) {
	return shown(p, words, func(i int) FileDiff { return Diff(p.Files[i], words) })
}

// ChangesWith is [Changes] for versions of files without contents, given the hunks of each
// file: those that another process was sent.
func ChangesWith(hunks [][]patch.Hunk, p *tool.Preview, words *lang.Catalogue) (files []FileDiff, summary []string) {
	return shown(p, words, func(i int) FileDiff { return diffWith(hunks[i], p.Files[i], words) })
}

func shown(p *tool.Preview, words *lang.Catalogue, diff func(int) FileDiff) (files []FileDiff, summary []string) {
	var added, deleted, changed, protected, unshown int
	for i, f := range p.Files {
		if f.Folded == tool.FoldedGit {
			continue
		}
		switch {
		case f.Before == nil:
			added++
		case f.After == nil:
			deleted++
		default:
			changed++
		}
		if f.Protected != "" {
			protected++
		}
		if len(files) == maxShown {
			unshown++
			continue
		}
		files = append(files, diff(i))
	}
	if p.Ran {
		summary = append(summary, words.T("The command has run, but nothing has been applied yet: %d changed, %d added, %d deleted.", changed, added, deleted), words.T("If you allow it, these changes are applied. The command does not run again."))
	}
	switch {
	case protected == 1:
		summary = append(summary, words.T("One of these files is protected; it comes first."))
	case protected > 1:
		summary = append(summary, words.T("%d of these files are protected; they come first.", protected))
	}
	for _, n := range p.Notes {
		summary = append(summary, visible.Text(n))
	}
	switch {
	case unshown == 1:
		summary = append(summary, words.T("1 more file is not shown."))
	case unshown > 1:
		summary = append(summary, words.T("%d more files are not shown.", unshown))
	}
	return files, summary
}
