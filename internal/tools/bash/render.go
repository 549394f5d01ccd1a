package bash

import (
	"slices"
	"strconv"
	"strings"
)

// names lists each name once.
func names(all []string) string {
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	const most = 5
	more := ""
	if len(all) > most {
		all, more = all[:most], ", …"
	}
	for i, name := range all {
		all[i] = strconv.Quote(name)
	}
	return strings.Join(all, ", ") + more
}
