// Package near finds the names that someone who wrote another one may have
// meant. It is pure and safe for concurrent use.
package near

import (
	"slices"
	"strings"
)

// maxLength bounds the work: nobody mistypes a name of this length.
const maxLength = 64

// Hint is a sentence that offers the near names, with a space before it, or ""
// if there are none.
func Hint(name string, candidates []string) string {
	if near := Names(name, candidates, 2); len(near) > 0 {
		return " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// Names returns up to n of the candidates that are near to name, nearest first.
// Case, underscores and hyphens do not count; a third of the letters may differ.
func Names(name string, candidates []string, n int) []string {
	type scored struct {
		name string
		dist int
	}
	if len(name) > maxLength {
		return nil
	}
	want := fold(name)
	var found []scored
	for _, c := range candidates {
		have := fold(c)
		d := distance(want, have)
		if len(want) >= 3 && len(have) >= 3 && (strings.Contains(have, want) || strings.Contains(want, have)) {
			d = min(d, 1)
		}
		if d <= max(len(want), len(have))/3 {
			found = append(found, scored{c, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.dist - b.dist })
	out := make([]string, 0, n)
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

var joints = strings.NewReplacer("_", "", "-", "")

func fold(s string) string { return joints.Replace(strings.ToLower(s)) }

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
