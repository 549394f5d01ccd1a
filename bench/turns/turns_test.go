package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/shellrun"
)

var reexec shellrun.Reexec

func TestMain(m *testing.M) {
	reexec = shellrun.Supervise()
	if os.Getenv(modelEnv) != "" {
		os.Exit(serveModel())
	}
	if os.Getenv(bigEnv) != "" {
		os.Exit(serveBig())
	}
	os.Exit(m.Run())
}

// Each measurement plays a few turns, so that it works on the day it is needed.
// What it measures here says nothing.
func TestMeasurementsPlayTheirTurns(t *testing.T) {
	built, err := buildOurs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    options
		want []string
	}{
		"reading":                       {options{turns: 3, reps: 1, work: "read"}, []string{"3 read turns", "haft ", "floor "}},
		"commands":                      {options{turns: 2, reps: 1, work: "bash"}, []string{"2 bash turns", "haft ", "floor "}},
		"many calls":                    {options{turns: 3, reps: 1, work: "crowd"}, []string{"one turn with 3 calls", "haft ", "floor "}},
		"results of 10 MiB":             {options{turns: 1, reps: 1, work: "mcp"}, []string{"1 mcp turns", "haft "}},
		"a long conversation":           {options{turns: 40, work: "read", grow: true}, []string{"haft   turn 10: ", "; turn 40: "}},
		"a conversation that continues": {options{turns: 5, reps: 2, work: "read", resume: true}, []string{"5 calls is resumed", "haft "}},
		"conversations in one process":  {options{sessions: 5, work: "read", density: true}, []string{"5 conversations", "KB of heap"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR"} {
				t.Setenv(name, os.Getenv(name)) // what density sets is put back
			}
			var out strings.Builder
			c.o.ours, c.o.out, c.o.log, c.o.reexec = built, &out, t.Output(), reexec
			if err := run(t.Context(), &c.o); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
		})
	}
}

// TestTurnsStayNearTheFloor fails if a change makes haft cost much more, measured against
// the floor in the same run. Measured were 7 to 8.3 and 3.7 to 6.1 times on a busy
// machine; the rest is for others. Raise a bound only with a reason in bench/README.md.
func TestTurnsStayNearTheFloor(t *testing.T) {
	const mostStart, mostTurn = 12, 8.0
	built, err := buildOurs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for rounds := 2; ; rounds *= 2 { // one that fails by chance is measured for longer
		found, err := costs(t.Context(), built, "read", 60, rounds)
		if err != nil {
			t.Fatal(err)
		}
		haft, floor := found[built[0]], found[built[1]]
		start, turn := ratio(haft.start, floor.start), ratio(haft.turn, floor.turn)
		t.Logf("%d rounds: a conversation %v, %.1f times the floor's; a turn %v, %.1f times", rounds, haft.start, start, haft.turn, turn)
		if start <= mostStart && turn <= mostTurn {
			return
		}
		if rounds == 8 {
			t.Fatalf("a conversation with one call costs %.1f times the floor's (at most %v), each further call %.1f times (at most %v)", start, mostStart, turn, mostTurn)
		}
	}
}

// TestStartStaysSmall holds what haft needs until its first request, in counts of the kernel that do not depend on how busy
// the machine is. Those of the floor, in the same run, say what the system itself takes.
func TestStartStaysSmall(t *testing.T) {
	const mostFaults, mostAnon, mostChildren = 3.9, 3.8, 300
	built, err := buildOurs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	found := map[*player][]startFigures{}
	for round := 1; ; round++ {
		for _, p := range built {
			f, _, err := play(t.Context(), p, "read", 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			if f.start.faults == 0 {
				t.Skip("the system does not count")
			}
			found[p] = append(found[p], f.start)
		}
		if round < 3 {
			continue
		}
		haft, floor := medians(found[built[0]]), medians(found[built[1]])
		faults, anon := ratio(haft.faults, floor.faults), ratio(haft.anon, floor.anon)
		t.Logf("%d rounds: until the first request: %d page faults (%.1f times the floor's), %s of its own (%.1f times), %d page faults of children", round, haft.faults, faults, mb(haft.anon), anon, haft.children)
		if faults <= mostFaults && anon <= mostAnon && haft.children <= mostChildren {
			return
		}
		if round == 9 { // one that fails by chance is measured for longer
			t.Fatalf("until the first request haft has %.1f times the floor's page faults (at most %v) and %.1f times its memory (at most %v), and its children %d page faults (at most %d)",
				faults, mostFaults, anon, mostAnon, haft.children, mostChildren)
		}
	}
}

// medians has the median of each figure.
func medians(list []startFigures) (m startFigures) {
	for _, field := range []func(*startFigures) *int64{
		func(f *startFigures) *int64 { return &f.faults },
		func(f *startFigures) *int64 { return &f.anon },
		func(f *startFigures) *int64 { return &f.children },
	} {
		var all []int64
		for _, f := range list {
			all = append(all, *field(&f))
		}
		slices.Sort(all)
		*field(&m) = all[len(all)/2]
	}
	return m
}

// TestManyCallsInOneAnswer plays one answer with Reads of different files: 1,000 in every test run, 10,000 with
// HAFT_NIGHTLY=1. The bound holds what there is, with room for a busy machine; the goal, 2 s for 10,000, is not met
// (bench/README.md).
func TestManyCallsInOneAnswer(t *testing.T) {
	calls, most := 1000, 1200*time.Millisecond
	if os.Getenv("HAFT_NIGHTLY") != "" {
		calls, most = 10_000, 8*time.Second
	}
	built, err := buildOurs(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	least := time.Hour
	for range 3 {
		f, _, err := play(t.Context(), built[0], "crowd", 1, calls)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d calls: %v of processor time, %v, %d MB", calls, f.cpu, f.total, f.rss>>20)
		if least = min(least, f.cpu); least <= most {
			return
		}
	}
	t.Errorf("%d calls in one answer took %v of processor time, more than %v", calls, least, most)
}

func TestWorkThatThereIsNot(t *testing.T) {
	if err := run(t.Context(), &options{work: "write"}); err == nil || !strings.Contains(err.Error(), "use read, bash, mcp or crowd") {
		t.Errorf("got %v", err)
	}
}
