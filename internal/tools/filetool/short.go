package filetool

import (
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/patch"
)

// short cuts lines that are too long to read, such as an image inside a notebook, to what surrounds their change.
func short(hunks []patch.Hunk) []patch.Hunk {
	out := make([]patch.Hunk, len(hunks))
	for i, h := range hunks {
		out[i] = h
		out[i].Lines = make([]string, len(h.Lines))
		at := changes(h.Lines)
		for j, l := range h.Lines {
			out[i].Lines[j] = l[:1] + around(l[1:], at[j])
		}
	}
	return out
}

// changes says for each line of a hunk where it begins to differ from the line that it replaces or is replaced by.
func changes(lines []string) []int {
	at := make([]int, len(lines))
	var removed, added []int
	pair := func() {
		for k := range min(len(removed), len(added)) {
			n := shared(lines[removed[k]][1:], lines[added[k]][1:])
			at[removed[k]], at[added[k]] = n, n
		}
		removed, added = removed[:0], added[:0]
	}
	for i, l := range lines {
		switch l[0] {
		case '-':
			if len(added) > 0 {
				pair()
			}
			removed = append(removed, i)
		case '+':
			added = append(added, i)
		case ' ':
			pair()
		}
	}
	pair()
	return at
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// around cuts a long text to a part with the given place near its beginning, and says how much is left out on both sides.
func around(s string, at int) string {
	const most, before = 2000, 200
	if len(s) <= most {
		return s
	}
	from := max(0, min(at-before, len(s)-most))
	to := from + most
	out := strings.ToValidUTF8(s[from:to], "")
	if from > 0 {
		out = fmt.Sprintf("[%d bytes] …%s", from, out)
	}
	if to < len(s) {
		out = fmt.Sprintf("%s… [%d more bytes]", out, len(s)-to)
	}
	return out
}
