package workspace

import (
	"bytes"

	"github.com/haftdev/haft/internal/world/workspace/guard"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
)

// maxShown is the largest file that is compared with the output of a command.
const maxShown = 2 << 20

// SawLines records that an agent knows a range of lines of a file, if the shown text contains
// exactly these lines in order, and reports whether it does. Lines are counted from 1, or from
// the end if negative.
func (w *Workspace) SawLines(agent string, f guard.Facts, from, to int, shown string) bool {
	if f.Info.Size > maxShown || f.Verdict(guard.Read).Decision != guard.Allow {
		return false
	}
	file, err := w.Load(f)
	if err != nil || file.Text == nil || len(file.Raw) == 0 {
		return false
	}
	lines := file.Text.Lines()
	if from, to, err = place(from, len(lines)), min(place(to, len(lines)), len(lines)), nil; from < 1 || from > to {
		return false
	}
	var part []byte
	for _, l := range lines[from-1 : to] {
		part = append(append(part, bytes.TrimRight(l, "\r\n")...), '\n')
	}
	if !bytes.Contains([]byte("\n"+shown+"\n"), append([]byte("\n"), part...)) {
		return false
	}
	r := readstate.Range{From: from, To: to}
	if from == 1 && to == len(lines) {
		r = Whole
	}
	w.Saw(agent, file.entry(r))
	return true
}

// place is a line counted from 1; one before the first is the first.
func place(line, all int) int {
	if line < 0 {
		return max(1, all+1+line)
	}
	return line
}
