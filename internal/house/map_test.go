package house

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The map shows the whole tree: a package that it does not name is one that a reader
// has to find by chance.
func TestEveryPackageIsOnTheMap(t *testing.T) {
	text := readFile(t, "docs/architecture.md")
	var findings []string
	for _, p := range allPackages(t) {
		if p.dir != "." && !named(text, p.dir) {
			findings = append(findings, p.dir+": is not in docs/architecture.md")
		}
	}
	report(t, findings, "Say there in a few words what the package is for.")
}

// named reports whether a text has the path of a package, whole.
func named(text, dir string) bool {
	return regexp.MustCompile(`(^|[^\w/.-])` + regexp.QuoteMeta(dir) + `($|[^\w/-])`).MatchString(text)
}

func TestNamedNeedsTheWholePath(t *testing.T) {
	const text = "see `internal/tui/key`, tool/read and `model`."
	for dir, want := range map[string]bool{
		"internal/tui/key": true, "tool/read": true, "model": true,
		"internal/tui": false, "tui/key": false, "tool": false, "internal/tui/ke": false,
	} {
		if named(text, dir) != want {
			t.Errorf("%s: want %v", dir, want)
		}
	}
}

// A layer that names a package which is gone says nothing about the one that took its
// place.
func TestLayersNamePackagesThatExist(t *testing.T) {
	var all []string
	for _, p := range allPackages(t) {
		all = append(all, node(path.Join(module, p.dir)))
	}
	lists := frontEnds + assembly + sdk + core + aids + benches + tools
	for _, b := range bans {
		lists += " " + b.from + " " + b.to
	}
	report(t, idle(lists, all), "Name the packages that there are now.")
}

// idle returns the patterns about our own packages that match none.
func idle(patterns string, all []string) []string {
	seen, out := map[string]bool{}, []string{}
	for _, p := range strings.Fields(patterns) {
		p = strings.TrimPrefix(p, "!")
		if seen[p] || p != "." && !strings.HasPrefix(p, "./") {
			continue
		}
		seen[p] = true
		if !slices.ContainsFunc(all, matcher(p)) {
			out = append(out, p+": matches no package")
		}
	}
	return out
}

func TestIdlePatternsAreFound(t *testing.T) {
	got := idle("./a/... !./gone ./b/...x other/... .", []string{".", "./a/b", "./b/cx"})
	if len(got) != 1 || got[0] != "./gone: matches no package" {
		t.Errorf("%q", got)
	}
}
