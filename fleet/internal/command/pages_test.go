package command

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each page of the runbook has a test that does what it says, and its commands have flags that exist.
func TestTheRunbook(t *testing.T) {
	pages := map[string]string{
		"The server is away":      "TestAServerThatIsKilledKeepsWhatItAcknowledged",
		"The disk is full":        "TestAFullDisk",
		"Runs wait for workers":   "TestARunWaitsForItsHost",
		"Workers are lost":        "TestChaos",
		"Runs are quarantined":    "TestARunThatKillsWorkersIsQuarantined",
		"Runs fail":               "TestAFailedRunSaysWhy",
		"A key is misused":        "TestAHostileWorker",
		"Rotate keys":             "TestAWorkersKeyIsRotated",
		"Drain a worker":          "TestAWorkerIsDrained",
		"Upgrade":                 "TestAnUpgradeLosesNothing",
		"Back up and restore":     "TestABackupIsRestored",
		"Repair the list of runs": "TestRepairMakesLostRunsAgain",
		"See who did what":        "TestRestingRunsAreArchived",
	}
	raw, err := os.ReadFile("../../../docs/fleet-runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	var headings []string
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(raw), -1) {
		headings = append(headings, m[1])
	}
	slices.Sort(headings)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(pages)), headings); diff != "" {
		t.Error(diff)
	}
	files, err := filepath.Glob("../*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(raw)
	}
	for page, name := range pages {
		if !strings.Contains(tests.String(), "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("%s: there is no %s", page, name)
		}
	}
	commands := regexp.MustCompile(`(?m)^    haft-fleet (.*)$`).FindAllStringSubmatch(string(raw), -1)
	for _, c := range commands {
		checkArgs(t, c[1], strings.Fields(strings.ReplaceAll(c[1], "...", "")))
	}
	if len(commands) < 10 {
		t.Errorf("only %d commands were found", len(commands))
	}
}
