package builtin_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/mcpresource"
	"github.com/haftdev/haft/tool"
)

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// TestExamplesOfTheDocsAreAccepted checks each example of docs/tools.md that is the
// input of a tool, as the pipeline checks it, and that the newest tools have one.
func TestExamplesOfTheDocsAreAccepted(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	session := &tool.Session{Interactive: true, Flags: map[string]bool{bash.BackgroundFlag: true, mcpresource.Flag: true}}
	set := tool.NewSet(session, everything(t).Tools(), nil, nil)
	shown := map[string]bool{}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		for _, block := range jsonBlock.FindAllStringSubmatch(section, -1) {
			for line := range strings.Lines(block[1]) {
				if strings.HasPrefix(line, `{"lspServers"`) {
					continue // settings
				}
				var takers []string
				for _, x := range set.All() {
					named := regexp.MustCompile(`\b` + x.Name + `\b`).MatchString(section)
					if _, repairs, err := set.View(x).Check([]byte(line)); named && err == nil && len(repairs) == 0 {
						takers = append(takers, x.Name)
					}
				}
				if len(takers) != 1 {
					t.Errorf("%s is accepted by %v of the tools that its section names, want one", strings.TrimSpace(line), takers)
				}
				for _, name := range takers {
					shown[name] = true
				}
			}
		}
	}
	for _, name := range []string{"Monitor", "REPL", "LSP", "ScheduleWakeup", "CronCreate", "PushNotification", "ListAgents", "RefreshMcpTools", "ReadMcpResourceDir"} {
		if !shown[name] {
			t.Errorf("docs/tools.md has no example of %s", name)
		}
	}
	if !slices.Contains(set.Session().Tools, "ListAgents") {
		t.Error("the set is not whole")
	}
}

// The table of the docs lists every tool.
func TestTheDocsListEveryTool(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| tool | what it does |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if !found {
		t.Fatal("docs/tools.md has no table of tools")
	}
	var listed []string
	for row := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		listed = append(listed, strings.Split(names, ", ")...)
	}
	names := []string{tool.DoorName}
	for _, x := range everything(t).Tools() {
		names = append(names, x.Name)
	}
	slices.Sort(listed)
	slices.Sort(names)
	if d := cmp.Diff(names, listed); d != "" {
		t.Errorf("docs/tools.md (-program +guide):\n%s", d)
	}
}
