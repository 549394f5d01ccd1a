package near

import (
	"cmp"
	"slices"
	"strings"
)

// Fitting returns the names that what was typed so far can mean, the likeliest first,
// and no more than most.
func Fitting(names []string, typed string, most int) []string {
	type fitting struct {
		name string
		fit  int
	}
	var list []fitting
	for _, name := range names {
		if fit := Fit(name, typed); fit > 0 {
			list = append(list, fitting{name, fit})
		}
	}
	slices.SortFunc(list, func(a, b fitting) int {
		return cmp.Or(b.fit-a.fit, len(a.name)-len(b.name), strings.Compare(a.name, b.name))
	})
	var best []string
	for _, f := range list[:min(len(list), most)] {
		best = append(best, f.name)
	}
	return best
}

// Fit says how well a name or path fits what was typed so far; 0 is not at all.
func Fit(name, typed string) int {
	name, typed = strings.ToLower(name), strings.ToLower(typed)
	base := strings.TrimSuffix(name, "/")
	base = base[strings.LastIndexByte(base, '/')+1:]
	switch {
	case typed == "":
		return 1
	case strings.HasPrefix(base, typed):
		return 5
	case strings.HasPrefix(name, typed):
		return 4
	case strings.Contains(base, typed):
		return 3
	case strings.Contains(name, typed):
		return 2
	}
	for _, r := range typed { // the letters in their order
		at := strings.IndexRune(name, r)
		if at < 0 {
			return 0
		}
		name = name[at+len(string(r)):]
	}
	return 1
}
