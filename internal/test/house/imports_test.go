package house

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A ban forbids imports from one set of packages to another. A deep ban also
// forbids to get there by way of others.
type ban struct {
	from, to string // patterns, see bans
	deep     bool
	why      string
}

// A graph maps each package to what it imports; keys are as in patterns.
type graph map[string][]string

func TestImportsPointDown(t *testing.T) {
	g, err := readGraph(allPackages(t))
	if err != nil {
		t.Fatalf("read the import graph: %v", err)
	}
	report(t, broken(g, bans),
		"Move what is needed to a lower layer, or pass it in through a constructor; the layers are drawn in docs/dev/architecture.md.")
}

// broken returns a line for each package that breaks a ban, with the way it
// takes from its import to the forbidden package.
func broken(g graph, bans []ban) []string {
	var out []string
	for _, b := range bans {
		from, to := matcher(b.from), matcher(b.to)
		for _, p := range slices.Sorted(maps.Keys(g)) {
			if !from(p) {
				continue
			}
			if way := g.way(p, to, b.deep); way != nil {
				out = append(out, strings.Join(way, " → ")+": "+b.why)
			}
		}
	}
	return out
}

// way returns a shortest chain of imports from a package to one that is
// forbidden, or nil. Unless deep, only direct imports are looked at.
func (g graph) way(from string, forbidden func(string) bool, deep bool) []string {
	seen := map[string]bool{from: true}
	for queue := [][]string{{from}}; len(queue) > 0; queue = queue[1:] {
		way := queue[0]
		for _, next := range g[way[len(way)-1]] {
			if seen[next] {
				continue
			}
			seen[next] = true
			longer := append(slices.Clip(way), next)
			if forbidden(next) {
				return longer
			}
			if deep {
				queue = append(queue, longer)
			}
		}
	}
	return nil
}

// matcher returns the set that a list of patterns describes.
func matcher(patterns string) func(string) bool {
	type rule struct {
		in bool
		re *regexp.Regexp
	}
	var rules []rule
	for _, p := range strings.Fields(patterns) {
		positive := strings.TrimPrefix(p, "!")
		re := strings.ReplaceAll(regexp.QuoteMeta(positive), `\.\.\.`, `.*`)
		if rest, ok := strings.CutSuffix(re, `/.*`); ok {
			re = rest + `(/.*)?`
		}
		rules = append(rules, rule{in: positive == p, re: regexp.MustCompile("^" + re + "$")})
	}
	return func(name string) bool {
		in := false
		for _, r := range rules {
			if r.re.MatchString(name) {
				in = r.in
			}
		}
		return in
	}
}

// readGraph takes the imports of our packages from their sources, so that
// files for other systems count, and those of other modules from go list.
func readGraph(pkgs []*pkg) (graph, error) {
	g, err := listDeps()
	if err != nil {
		return nil, err
	}
	for _, p := range pkgs {
		from := node(path.Join(module, p.dir))
		for _, file := range p.files {
			for _, spec := range file.Imports {
				to, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return nil, err
				}
				g[from] = append(g[from], node(to))
			}
		}
	}
	return g, nil
}

func listDeps() (graph, error) {
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	g := graph{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			return g, nil
		} else if err != nil {
			return nil, err
		}
		for _, to := range p.Imports {
			g[node(p.ImportPath)] = append(g[node(p.ImportPath)], node(to))
		}
	}
}

// node writes an import path the way patterns do.
func node(importPath string) string {
	if importPath == module {
		return "."
	}
	if rest, ok := strings.CutPrefix(importPath, module+"/"); ok {
		return "./" + rest
	}
	return importPath
}

func TestBrokenBansAreFound(t *testing.T) {
	g := graph{
		".":                     {"./wire"},
		"./internal/cli":        {"./internal/front/tui", "./internal/tools/read"},
		"./tool":                {"./tool/schema", "fmt"},
		"./tool/schema":         {"fmt"},
		"./internal/tools/read": {"./tool", "./internal/world/disk"},
		"./internal/world/disk": {"example.org/fs"},
		"./internal/front/tui":  {"charm.land/bubbletea/v2"},
		"example.org/fs":        {"example.org/log"},
	}
	with := func(from string, to ...string) graph {
		h := maps.Clone(g)
		h[from] = slices.Concat(h[from], to)
		return h
	}
	tests := []struct {
		name string
		g    graph
		want []string // the ways, without reasons
	}{
		{"a tree that points down breaks nothing", g, nil},
		{"the contract may not import a helper of ours", with("./tool", "./internal/x"), []string{"./tool → ./internal/x"}},
		{"a tool may not reach the scheduler through another package",
			with("./internal/world/disk", "./sched"), []string{
				"./internal/tools/read → ./internal/world/disk → ./sched",
				"./internal/world/disk → ./sched",
			}},
		{"the SDK may not reach a tool through the wire", with("./wire", "./internal/tools/read"), []string{
			". → ./wire → ./internal/tools/read",
			"./wire → ./internal/tools/read",
		}},
		{"a package outside every layer may not import the command line", with("./internal/x", "./internal/cli"),
			[]string{"./internal/x → ./internal/cli"}},
		{"a heavy module is found behind two foreign ones",
			with("example.org/log", "github.com/nats-io/nats.go"), []string{
				"./internal/tools/read → ./internal/world/disk → example.org/fs → example.org/log → github.com/nats-io/nats.go",
				"./internal/world/disk → example.org/fs → example.org/log → github.com/nats-io/nats.go",
			}},
		{"a cycle ends", with("./internal/world/disk", "./internal/tools/read"), []string{
			"./internal/world/disk → ./internal/tools/read",
			"./internal/world/disk → ./internal/tools/read",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, line := range broken(tt.g, bans) {
				way, why, _ := strings.Cut(line, ": ")
				if why == "" {
					t.Errorf("%q gives no reason", line)
				}
				got = append(got, way)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("broken bans (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		patterns, name string
		want           bool
	}{
		{"./tool/...", "./tool", true},
		{"./tool/...", "./tool/schema", true},
		{"./tool/...", "./toolbox", false},
		{"./tool/...schema", "./tool/schema", true},
		{"./tool/...schema", "./tool/internal/jsonschema", true},
		{"./tool/...schema", "./internal/tools/read", false},
		{"./... !./cli/...", "./cli/flags", false},
		{"./... !./cli/...", "./sched", true},
		{"./...", "fmt", false},
		{".", "./tool", false},
		{tools, "./tool", false},
		{tools, "./internal/tools/bash", true},
		{core, "./tool", true},
	}
	for _, tt := range tests {
		if got := matcher(tt.patterns)(tt.name); got != tt.want {
			t.Errorf("matcher(%q)(%q) = %v, want %v", tt.patterns, tt.name, got, tt.want)
		}
	}
}
