package house

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestModulesReplaceNothing(t *testing.T) {
	var findings []string
	for _, name := range textFiles(t) {
		if path.Base(name) == "go.mod" && !slices.Contains(besides, path.Dir(name)) {
			findings = append(findings, replaces(name, readFile(t, name))...)
		}
	}
	report(t, findings,
		"Require a released version: replace directives are ignored in modules that depend on us and refused by go install.")
}

// besides are the modules that use haft's packages from the same checkout.
var besides = []string{"fleet", "bench"}

// TestModulesBesidesReplaceOnlyHaft keeps the exceptions small: haft-fleet is built from the
// checkout whose harness it runs, benchmarks measure theirs, and nothing depends on either.
func TestModulesBesidesReplaceOnlyHaft(t *testing.T) {
	for _, dir := range besides {
		got := replaces(dir+"/go.mod", readFile(t, dir+"/go.mod"))
		if len(got) != 1 || !strings.HasSuffix(got[0], "replace "+module+" => ../") {
			t.Errorf("%s/go.mod replaces %q", dir, got)
		}
	}
}

// TestEveryModuleHasAReason compares the modules that go.mod and fleet/go.mod require directly with the rows of
// docs/dev/dependencies.md, both ways.
func TestEveryModuleHasAReason(t *testing.T) {
	used, _, _ := strings.Cut(readFile(t, "docs/dev/dependencies.md"), "\n## ")
	findings := unexplained(readFile(t, "go.mod")+readFile(t, "fleet/go.mod"), used)
	report(t, findings, "Give each module that is required directly a row with its purpose in docs/dev/dependencies.md, and no other.")
}

// unexplained compares the direct requirements in the text of go.mod files with the first cells of tables.
func unexplained(mods, tables string) []string {
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+\.\S+/\S+) v\S+$`).FindAllStringSubmatch(mods, -1) {
		required[m[1]] = !strings.HasPrefix(m[1], module)
	}
	explained := map[string]bool{}
	for line := range strings.Lines(tables) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			if name = strings.Trim(name, " `"); strings.Contains(name, "/") { // not the heading
				explained[name] = true
			}
		}
	}
	var out []string
	for name, direct := range required {
		if direct && !explained[name] {
			out = append(out, name+" is not in docs/dev/dependencies.md")
		}
	}
	for name := range explained {
		if !required[name] {
			out = append(out, name+" is not required")
		}
	}
	slices.Sort(out)
	return out
}

// fleetMay is what the fleet, a module of its own above the front ends, imports of this one:
// it leads conversations as a front end does, keeps their journals, stores their files after each
// step that may change them, without secrets, lets their tools run elsewhere, and serves their API. It ends git with its children, and
// shows operators what others have written without its control characters, and shortens it.
const fleetMay = "./agent ./sched ./tool ./internal/text/secret ./session ./model/... ./wire ./internal/world/shellrun ./internal/front/headless ./internal/front/headless/launch ./internal/front/live ./internal/front/serve ./internal/front/serve/servetest ./internal/front/page ./internal/world/workspace/blob ./internal/sys/loopback ./internal/sys/processgroup ./internal/text/shorten ./internal/text/visible ./internal/world/mcp/toolhost ./internal/test/needtest ./internal/test/sessiontest ./internal/test/tracetest "

func TestTheFleetImportsItsLayer(t *testing.T) {
	may := matcher(fleetMay)
	imports := regexp.MustCompile(`"(` + regexp.QuoteMeta(module) + `[^"]*)"`)
	for _, name := range textFiles(t) {
		if !strings.HasPrefix(name, "fleet/") || path.Ext(name) != ".go" {
			continue
		}
		for _, m := range imports.FindAllStringSubmatch(readFile(t, name), -1) {
			if !strings.HasPrefix(m[1], module+"/fleet/") && !may(node(m[1])) {
				t.Errorf("%s imports %s, which is not for the fleet", name, m[1])
			}
		}
	}
}

func replaces(name, text string) []string {
	var out []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		if words := strings.Fields(line); len(words) > 0 && words[0] == "replace" {
			out = append(out, fmt.Sprintf("%s:%d: %s", name, number, strings.TrimSpace(line)))
		}
	}
	return out
}

func TestNoCgo(t *testing.T) {
	var findings []string
	for _, p := range allPackages(t) {
		findings = append(findings, cgo(p)...)
	}
	report(t, findings, "Use a pure Go library or a separate program: haft is built with CGO_ENABLED=0 for every system.")
}

func cgo(p *pkg) []string {
	var out []string
	for _, file := range p.files {
		for _, spec := range file.Imports {
			if spec.Path.Value == `"C"` {
				out = append(out, p.at(spec, `import "C"`))
			}
		}
	}
	return out
}
