package house

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stateSnippet has what a package may hold in its first half, and then what it may not.
const stateSnippet = `package a
import ("errors"; "io"; "net/http"; "regexp"; "slices"; "sync"; "sync/atomic")
var t = map[string]int{"a": 1}
var ErrX = errors.New("x")
var re = regexp.MustCompile("x")
var _ io.Reader = (*r)(nil)
type r struct{}
var p sync.Pool
var once = sync.OnceValue(func() int { var mu sync.Mutex; mu.Lock(); return 1 })
var built = func() map[int]int { m := map[int]int{}; m[1] = 2; return m }()
type record struct{ n int }
func (r *record) set() { r.n++ }
func (r *record) get() int { return r.n }
var read = record{1}
func fine() (int, bool) { p.Put(1); n := 1; n++; return t["a"] + n + read.get(), re.MatchString("x") }
var n int
var m = map[int]int{}
var s []int
var v = &struct{ n int }{}
var w record
func init() {}
func f1() { n = 1 }
func f2() { n++ }
func f3() { m[1] = 2 }
func f4() { delete(m, 1) }
func f5() { s = append(s, 1) }
func f6() { slices.Sort(s) }
func f7() { (*v).n = 1 }
func f8() *int { return &n }
func f9() { for n = range 3 {} }
func f10() { w.set() }
func f11() { http.DefaultClient = nil }
var mu sync.Mutex
var in struct{ mu sync.RWMutex }
var count = new(atomic.Int64)
var c = make(chan int)
`

// TestChecksFindTheirFaults gives each check a text in which some lines are right and the others
// break its rule: a check that finds nothing would pass for ever.
func TestChecksFindTheirFaults(t *testing.T) {
	mentions := func(lines string, found func(string) bool) (out []string) {
		for line := range strings.Lines(lines) {
			if line = strings.TrimSuffix(line, "\n"); found(line) {
				out = append(out, line)
			}
		}
		return out
	}
	tree := map[string]bool{"docs": true, "docs/a.md": true, "tool": true, "tool/set.go": true}
	swapped := snippet(t, "a", `package a; import "time"; var now = time.Now`)
	swapped.tests = []*ast.File{parse(t, swapped.fset, "a/x_test.go", `package a; var update bool; func f() { now = nil; update = true }`)}
	twice := snippet(t, "a", "// Package a holds.\npackage a")
	twice.files = append(twice.files, twice.files[0])
	helpers := snippet(t, "a", "package a\nfunc Main() { near(); far(); both(); both(); t{}.m() }\nfunc near() {}\ntype t struct{}\n")
	helpers.files = append(helpers.files, parse(t, helpers.fset, "a/b.go", "package a\nfunc far() {}\nfunc both() {}\nfunc (t) m() {}\nfunc unused() {}\n"))
	once, elsewhere := helpersOf(helpers)
	translated := func(texts map[string]string) string {
		missing, faults := catalogueFaults("x", texts, map[string]bool{"%d of %s": true, "here": true})
		return fmt.Sprintf("%d missing, %d faults", len(missing), len(faults))
	}

	for _, c := range []struct {
		check     string
		got, want []string
	}{
		{"state", state(snippet(t, "a", stateSnippet)), []string{
			"a/x.go:21: func init runs behind the reader's back",
			"a/x.go:22: changes the package variable n", "a/x.go:23: changes the package variable n",
			"a/x.go:24: changes the package variable m", "a/x.go:25: changes the package variable m",
			"a/x.go:26: changes the package variable s", "a/x.go:27: changes the package variable s",
			"a/x.go:28: changes the package variable v", "a/x.go:29: changes the package variable n",
			"a/x.go:30: changes the package variable n", "a/x.go:31: changes the package variable w",
			"a/x.go:32: changes a variable of package net/http",
			"a/x.go:33: the package variable mu holds a sync.Mutex",
			"a/x.go:34: the package variable in holds a sync.RWMutex",
			"a/x.go:35: the package variable count holds a sync/atomic.Int64",
			"a/x.go:36: the package variable c holds a channel",
		}},
		{"state of a command", state(snippet(t, "cmd/x", "package main; var n int; func init() { n++ }")), nil},
		{"state that tests swap", state(swapped), []string{"a/x_test.go:1: changes the package variable now"}},
		{"prints", prints(snippet(t, "a", `package a
import ("fmt"; "io"; "log"; "log/slog"; system "os")
type out struct{}
func (out) Println() {}
func fine(w io.Writer, l *slog.Logger) { fmt.Fprintln(w, "x"); l.Info("x") }
func local(fmt out) { fmt.Println() }
var w = system.Stdout
func f() { fmt.Println(); println() }
func g() { log.Fatalf("x"); slog.Info("x") }`)), []string{
			"a/x.go:7: os.Stdout", "a/x.go:8: fmt.Println", "a/x.go:8: builtin.println", "a/x.go:9: log.Fatalf", "a/x.go:9: log/slog.Info",
		}},
		{"prints of the command line", prints(snippet(t, "internal/cli/flags", "package flags\nimport \"os\"\nvar w = os.Stdout")), nil},
		{"prints of a command", prints(snippet(t, "internal/x", "package main\nfunc main() { println() }")), nil},
		{"documented", undocumented(snippet(t, "a", "// Package a holds.\npackage a")), nil},
		{"documented command", undocumented(snippet(t, "cmd/x", "// Command x runs.\npackage main")), nil},
		{"a build constraint", undocumented(snippet(t, "a", "//go:build linux\n\npackage a")), []string{"a: package a has no package comment"}},
		{"a licence", undocumented(snippet(t, "a", "// All rights.\npackage a")), []string{`a/x.go:1: the package comment should start with "Package a "`}},
		{"two package comments", undocumented(twice), []string{"a/x.go:1: a second package comment"}},
		{"cgo", cgo(snippet(t, "a", "package a\n\nimport \"C\"")), []string{`a/x.go:3: import "C"`}},
		{"replaces", replaces("go.mod", "module m\n\nreplace a => ../a\n// replace nothing\nrequire replace.org/x v1.0.0\n"), []string{"go.mod:3: replace a => ../a"}},
		{"modules", unexplained("module example.com/own\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b/v2 v2.0.0\n\texample.com/c v1.0.0 // indirect\n)\n",
			"| `example.com/a` | x | why |\n| `example.com/c`, `example.com/d` | x | it brings `example.com/e` |\n"), []string{
			"example.com/b/v2 is not in docs/dev/dependencies.md", "example.com/c is not required", "example.com/d is not required",
		}},
		{"strays", strays("f", "go get golang.org/x/text\na/work"+"/b ~/work"+"/c $X/root"+"/d ${X}/work"+"/e\n\"https://registry."+"npmjs.org/x\"\n/work"+"/x\n\"/root"+"/x\"\nfile:///work"+"/x\na/work"+"/b /work"+"/c\n"), []string{
			"f:3: names registry." + "npmjs.org", "f:4: a path in /work" + "/", "f:5: a path in /root" + "/", "f:6: a path in /work" + "/", "f:7: a path in /work" + "/",
		}},
		{"strays of a binary file", strays("f", "\x00/work"+"/x\n"), nil},
		{"paths", dangling("docs/a.md", "[a](a.md#part) `docs/a.md` `./tool/set.go:12` `tool/`\n`net/http` `tool.Set` `go test ./...` `tool/<name>` `tool/*.go` `~/.x/y.md` `.claude/agents/x.md`\n[a](https://example.org/x.md) [b](#part)\n```sh\n`tool/gone.go`\n```\n[a](b.md)\nsee `tool/gone`\nsee `gone/x.go`",
			func(name string) bool { return tree[path.Clean(name)] }), []string{
			"docs/a.md:7: link to b.md", "docs/a.md:8: `tool/gone`", "docs/a.md:9: `gone/x.go`",
		}},
		{"headings", danglingHeadings(map[string]string{
			"docs/a.md": "# A\n## The SDK's `query()`\n## Twice\n## Twice\n````md\n```\n## Not this\n[x](#nor-this)\n````\n[1](#the-sdks-query) [2](#twice-1) [3](#not-this) [4](b.md#part)\n",
			"docs/b.md": "## Part two\n[a](a.md#a) [b](https://example.org/#x) [c](gone.md#x)\n",
		}), []string{"docs/a.md: link to #not-this", "docs/a.md: link to b.md#part"}},
		{"receivers", unlikeReceivers(snippet(t, "a", "package p\nfunc (a *T) one() {}\nfunc (b T) two() {}\nfunc (_ T) three() {}\nfunc (T) four() {}\nfunc (u *U[K]) one() {}\nfunc (u U[K]) two() {}\n").files),
			[]string{"the receiver of T is a or b"}},
		{"helpers", []string{fmt.Sprint(once, " called once, elsewhere ", len(elsewhere))}, []string{"2 called once, elsewhere 1"}},
		{"licences", []string{unfit(""), unfit("GNU GENERAL PUBLIC LICENSE Version 3"), unfit("Do what you like."), unfit("Apache License\n Version 2.0"), unfit("MIT\n" + permissive["MIT"] + " of this"), unfit(strings.ReplaceAll(permissive["BSD"], " source", "\nsource"))},
			[]string{"has no licence", "is under the GNU GENERAL PUBLIC LICENSE", "has a licence that is not known here: Do what you like.", "", "", ""}},
		{"names", []string{emptyName("internal/util", "util"), emptyName("internal/shared/diff", "diff"), emptyName("tool/x", "helpers"), emptyName("search", "search"), emptyName("database", "database")},
			[]string{"util", "shared", "helpers", "", ""}},
		{"scripts", mentions("testdata/script/a.txtar\ncli/testdata/script/a.txt\nwire/testdata/dialog/a.txtar\nsearch/testdata/a.txt\ncli/script/a.txtar", isScript),
			[]string{"testdata/script/a.txtar", "cli/testdata/script/a.txt", "wire/testdata/dialog/a.txtar"}},
		{"first lines", mentions("# Pins the exit code.\nexec x # late\n#\n", opensWithComment), []string{"# Pins the exit code."}},
		{"words", mentions("The call goes on in the background.\nAsk the person to allow it.\n1 calls were cut off\nneeds an address, and %q is none\na hook stands before the call in the list\nIt would wait for ever.\nThe answer is no object.\nThe header goes before it.\nAn invalid rule draws a warning.\n"+
			"There are none in this session.\nThe standing order\nIt recommends a fix.\nThere is no object here.", func(text string) bool {
			return slices.ContainsFunc(compileStopWords(), func(w stopWord) bool { return w.MatchString(text) })
		}), []string{
			"The call goes on in the background.", "Ask the person to allow it.", "1 calls were cut off", "needs an address, and %q is none", "a hook stands before the call in the list",
			"It would wait for ever.", "The answer is no object.", "The header goes before it.", "An invalid rule draws a warning.",
		}},
		{"translations", []string{
			translated(map[string]string{"%d of %s": "%[2]s 中的 %[1]d", "here": "这里"}), translated(map[string]string{"%d of %s": "%[2]s 中的 %[1]d"}),
			translated(map[string]string{"%d of %s": "%d %s", "here": "这里", "gone": "没了"}), translated(map[string]string{"%d of %s": "%s %d", "here": "这里"}),
			translated(map[string]string{"%d of %s": "%d", "here": "这里"}), translated(map[string]string{"%d of %s": "%d %s", "here": ""}),
		}, []string{"0 missing, 0 faults", "1 missing, 0 faults", "0 missing, 1 faults", "0 missing, 1 faults", "0 missing, 1 faults", "0 missing, 1 faults"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.check, diff)
		}
	}
}
