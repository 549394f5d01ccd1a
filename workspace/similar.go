package workspace

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/workspace/guard"
)

// similar returns up to three existing files that a missing path may have meant: the same path below the project, or a file
// beside it with nearly the same name.
func (w *Workspace) similar(f guard.Facts) []string {
	if p := w.belowRoot(f.Path); p != "" {
		return []string{p}
	}
	dir, base := filepath.Split(f.Real)
	entries, err := w.fs.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil
	}
	const most = 5000
	type candidate struct {
		path string
		cost int
	}
	var found []candidate
	for _, e := range entries[:min(len(entries), most)] {
		if c := nameCost(base, e.Name()); c >= 0 {
			found = append(found, candidate{filepath.Join(filepath.Dir(f.Path), e.Name()), c})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(a.cost-b.cost, strings.Compare(a.path, b.path)) })
	var out []string
	for _, c := range found[:min(len(found), 3)] {
		out = append(out, c.path)
	}
	return out
}

// belowRoot finds a tail of the path that exists under a root, as when a directory in the middle was made up.
func (w *Workspace) belowRoot(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for i := 1; i < len(parts); i++ {
		for _, root := range w.guard.Roots() {
			p := filepath.Join(root, filepath.Join(parts[i:]...))
			if info, err := w.fs.Lstat(p); err == nil && info.Mode.IsRegular() {
				return p
			}
		}
	}
	return ""
}

// nameCost says how far apart two names are, or -1 when they have nothing to do with each other.
func nameCost(want, have string) int {
	stem := func(s string) string { return strings.TrimSuffix(s, filepath.Ext(s)) }
	switch {
	case strings.EqualFold(want, have):
		return 0
	case stem(want) == stem(have):
		return 1
	}
	d := editDistance(strings.ToLower(want), strings.ToLower(have))
	if d <= 2 && d*3 <= len(want) {
		return 1 + d
	}
	return -1
}

// editDistance is Levenshtein's, with everything over 3 as 3.
func editDistance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return min(row[len(b)], 3)
}
