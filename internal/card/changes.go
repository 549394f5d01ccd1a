package card

import (
	"fmt"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/tool"
)

// maxShown is how many files of a change are shown one by one.
const maxShown = 300

// Changes returns the files of a change and lines about all of it. Files of git
// itself are in the lines only.
func Changes(p *tool.Preview) (files []FileDiff, summary []string) {
	var added, deleted, changed, protected, unshown int
	for _, f := range p.Files {
		if f.Folded == "git" {
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
		files = append(files, Diff(f))
	}
	if p.Ran {
		summary = append(summary, fmt.Sprintf("It has run, but nothing has been applied yet: %d changed, %d added, %d deleted.", changed, added, deleted), "If you allow it, these changes are applied. The command does not run again.")
	}
	switch {
	case protected == 1:
		summary = append(summary, "One of these files is protected; it comes first.")
	case protected > 1:
		summary = append(summary, fmt.Sprintf("%d of these files are protected; they come first.", protected))
	}
	for _, n := range p.Notes {
		summary = append(summary, visible.Text(n))
	}
	if unshown > 0 {
		summary = append(summary, plural.Forms(unshown, "more file is", "more files are")+" not shown.")
	}
	return files, summary
}
