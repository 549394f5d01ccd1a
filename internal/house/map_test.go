package house

import (
	"os"
	"path"
	"path/filepath"
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

// The table of the larger packages names their files without the folder.
func TestTheMapNamesFilesThatExist(t *testing.T) {
	exists := func(file string) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
		return err == nil
	}
	findings, rows := misplacedFiles(readFile(t, "docs/architecture.md"), exists)
	if rows < 10 {
		t.Errorf("the table of the larger packages has %d rows: is it still read?", rows)
	}
	report(t, findings, "Name the files that there are now.")
}

// misplacedFiles are the files in rows such as "| `pkg` | `file.go` … |" that their package
// does not have.
func misplacedFiles(text string, exists func(string) bool) (findings []string, rows int) {
	row, file := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| (.*`[a-z_0-9]+\\.go`.*)$"), regexp.MustCompile("`([a-z_0-9]+\\.go)`")
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		rows++
		for _, f := range file.FindAllStringSubmatch(m[2], -1) {
			if name := m[1] + "/" + f[1]; !exists(name) {
				findings = append(findings, name+": is in the table of docs/architecture.md, and not in the tree")
			}
		}
	}
	return findings, rows
}

func TestMisplacedFilesAreFound(t *testing.T) {
	const text = "| package | where |\n| `agent` | `run.go` the queue, `gone.go` nothing |\n| `bench/x` | a program |\n"
	got, rows := misplacedFiles(text, func(file string) bool { return file == "agent/run.go" })
	if len(got) != 1 || !strings.HasPrefix(got[0], "agent/gone.go:") || rows != 1 {
		t.Errorf("found %q in %d rows", got, rows)
	}
}

// A layer that names a package which is gone says nothing about the one that took its
// place.
func TestLayersNamePackagesThatExist(t *testing.T) {
	var all []string
	for _, p := range allPackages(t) {
		all = append(all, node(path.Join(module, p.dir)))
	}
	lists := frontEnds + assembly + sdk + core + aids + examples + tools
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
