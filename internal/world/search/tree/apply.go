package tree

import (
	"slices"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// rulesChanged reports whether a rule file of d is another than before.
func rulesChanged(d *Dir, l listing) bool {
	if d.marks == 0 {
		return false
	}
	for _, f := range d.files {
		if ignore.MarkOf(f.Name()) == 0 {
			continue
		}
		i := slices.IndexFunc(l.entries, func(e entry) bool { return e.path == f.Path })
		if i < 0 || l.entries[i].kind != rawfs.Regular || !f.same(l.entries[i].stat) {
			return true
		}
	}
	return false
}
