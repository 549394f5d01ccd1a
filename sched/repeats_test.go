package sched_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A step is one call of a loop, with what comes of it.
type step struct {
	tool, input, result string
	fails               bool
	takes               time.Duration
}

// loopTools are tools with the marks of the real ones; step says what they return.
func loopTools(now *step) *tool.Set {
	var tools []tool.Tool
	for name, marks := range map[string]tool.Marks{
		"Read": {ReadOnly: true}, "Grep": {ReadOnly: true}, "Edit": {}, "Write": {}, "Bash": {}, "BashRead": {ReadOnly: true},
		"Sleep": {ReadOnly: true, Polling: true}, "BashOutput": {ReadOnly: true, Polling: true},
	} {
		tools = append(tools, tool.New(tool.Def[note, string]{
			Name: name, Description: "x", Marks: func(note) tool.Marks { return marks },
			Run: func(context.Context, *tool.Call, note) (string, error) {
				time.Sleep(now.takes)
				if now.fails {
					return "", tool.Errorf("%s", now.result)
				}
				return now.result, nil
			},
		}))
	}
	return set(tools...)
}

// turns plays rounds of a loop and returns after how many calls the turn was ended, and
// whether the model was told before; 0 if it was not ended.
func turns(t *testing.T, rounds int, round func(i int) []step) (ended int, told bool) {
	t.Helper()
	var now step
	tools, repeats, s := loopTools(&now), sched.NewRepeats(sched.RepeatLimits{}), sched.New(allowAll())
	calls := 0
	for i := range rounds {
		for _, now = range round(i) {
			b := s.Start(t.Context(), &sched.BatchOptions{Tools: tools, Repeats: repeats})
			b.Add("x", now.tool, fmt.Appendf(nil, `{"text":%q}`, now.input))
			b.End()
			for out := range b.Outcomes() {
				calls++
				if out.Fatal != nil && !errors.Is(out.Fatal, context.Canceled) {
					t.Fatal(out.Fatal)
				}
				if out.Stop != "" {
					return calls, told
				}
				told = told || len(out.Notes) > 0
			}
		}
	}
	return 0, told
}

func TestHonestLoopsAreNotStopped(t *testing.T) {
	edit := func(i int) step { return step{tool: "Edit", input: fmt.Sprint("edit ", i), result: "done"} }
	vet := step{tool: "Bash", input: "go vet ./...", result: "a.go:3: x declared and not used", fails: true}
	for name, round := range map[string]func(i int) []step{
		"edit and vet":              func(i int) []step { return []step{edit(i), vet} },
		"edit and build":            func(i int) []step { return []step{edit(i), {tool: "Bash", input: "go build ./...", result: "ok"}} },
		"edit and git status":       func(i int) []step { return []step{edit(i), {tool: "BashRead", input: "git status", result: " M a.go"}} },
		"edit and search":           func(i int) []step { return []step{edit(i), {tool: "Grep", input: "TODO", result: "No matches found"}} },
		"edit, read again and vet":  func(i int) []step { return []step{edit(i), {tool: "Read", input: "a.go", result: "same"}, vet} },
		"write by command and test": func(i int) []step { return []step{{tool: "Bash", input: fmt.Sprint("sed -i ", i), result: ""}, vet} },
		"a file after the other":    func(i int) []step { return []step{{tool: "Write", input: fmt.Sprint("f", i), result: "ok"}, vet} },
		"new searches, same check": func(i int) []step {
			return []step{{tool: "Grep", input: fmt.Sprint(i), result: "No matches found"}, vet}
		},
		"wait and look": func(i int) []step {
			return []step{{tool: "Sleep", input: "5s", result: "slept", takes: 5 * time.Second}, {tool: "BashRead", input: "curl health", result: "starting"}}
		},
		"a command that waits": func(i int) []step {
			return []step{{tool: "Bash", input: "sleep 10; curl health", result: "starting", takes: 10 * time.Second}}
		},
		"output of the background": func(i int) []step { return []step{{tool: "BashOutput", input: "b1", result: "no new output"}} },
		"a result that changes": func(i int) []step {
			return []step{{tool: "Bash", input: "make test", result: fmt.Sprint(20-i, " failures")}}
		},
		"a failed edit, then another": func(i int) []step {
			return []step{{tool: "Edit", input: fmt.Sprint(i), result: "not found", fails: true}, {tool: "Read", input: "a.go", result: "same"}}
		},
		"the same file after fifty others": func(i int) []step {
			steps := []step{{tool: "Read", input: "a.go", result: "same"}}
			for j := range 50 {
				steps = append(steps, step{tool: "Read", input: fmt.Sprint(j), result: "same"})
			}
			return steps
		},
		"two files, one check": func(i int) []step {
			return []step{edit(2 * i), {tool: "Grep", input: "x", result: "a.go"}, edit(2*i + 1), {tool: "Grep", input: "x", result: "a.go"}, vet}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if ended, _ := turns(t, 20, round); ended != 0 {
					t.Errorf("ended at call %d", ended)
				}
			})
		})
	}
}

func TestStuckLoopsAreToldAndThenStopped(t *testing.T) {
	same := func(steps ...step) func(int) []step { return func(int) []step { return steps } }
	for name, round := range map[string]func(i int) []step{
		"the same search":               same(step{tool: "Grep", input: "x", result: "No matches found"}),
		"the same command":              same(step{tool: "Bash", input: "go build", result: "error", fails: true}),
		"two reads in turn":             same(step{tool: "Read", input: "a", result: "a"}, step{tool: "Read", input: "b", result: "b"}),
		"two checks in turn":            same(step{tool: "Bash", input: "go vet", result: "bad", fails: true}, step{tool: "Bash", input: "go build", result: "bad", fails: true}),
		"an edit that fails":            same(step{tool: "Edit", input: "x", result: "old_string is not in the file", fails: true}),
		"an edit that fails, and reads": same(step{tool: "Read", input: "a", result: "a"}, step{tool: "Edit", input: "x", result: "not found", fails: true}, step{tool: "Grep", input: "x", result: "No matches found"}),
		"there and back": same(step{tool: "Edit", input: "a to b", result: "done"}, step{tool: "Bash", input: "go vet", result: "bad", fails: true},
			step{tool: "Edit", input: "b to a", result: "done"}, step{tool: "Bash", input: "go vet", result: "bad", fails: true}),
		"the same file again":          same(step{tool: "Write", input: "x", result: "written"}, step{tool: "Read", input: "x", result: "x"}),
		"a tool that is not there":     same(step{tool: "Nosuch", input: "x"}),
		"the same look without a wait": same(step{tool: "Sleep", input: "0s", result: "slept"}, step{tool: "BashRead", input: "curl", result: "starting"}),
		"five files in turn": func(i int) []step {
			return []step{{tool: "Read", input: fmt.Sprint(i % 5), result: "same"}}
		},
		"a denied command":                           same(step{tool: "Bash", input: "rm -rf /", result: "denied", fails: true}),
		"a search for a tool that is not there":      same(step{tool: "Grep", input: "select:Nosuch", result: "no such tool"}, step{tool: "Nosuch", input: "x"}),
		"a look at the log, the status and the diff": same(step{tool: "BashRead", input: "git log", result: "a"}, step{tool: "BashRead", input: "git status", result: "b"}, step{tool: "BashRead", input: "git diff", result: "c"}),
		"a slow command":                             same(step{tool: "Bash", input: "make", result: "bad", fails: true, takes: 20 * time.Second}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended, told := turns(t, 40, round)
				if ended == 0 || !told {
					t.Errorf("ended at call %d, told before: %v", ended, told)
				}
			})
		})
	}
}

// Long sessions that only look around come back to the same files, more often to some than to
// others, and learn nothing that no earlier call has shown. They are neither stopped nor told.
func TestLongExplorationsAreNotStopped(t *testing.T) {
	for _, files := range []int{60, 200, 1000} {
		for seed := range uint64(4) {
			random := rand.New(rand.NewPCG(seed, uint64(files)))
			often := rand.NewZipf(random, 1.05, 4, uint64(files-1))
			synctest.Test(t, func(t *testing.T) {
				ended, _ := turns(t, 3000, func(int) []step {
					name := []string{"Read", "Grep", "BashRead"}[random.IntN(3)]
					return []step{{tool: name, input: fmt.Sprint(often.Uint64()), result: "same"}}
				})
				if ended != 0 {
					t.Errorf("%d files, seed %d: ended at call %d", files, seed, ended)
				}
			})
		}
	}
}

// After a compaction, or when the user says something, the count begins again.
func TestForgottenCallsAreNotRepeated(t *testing.T) {
	var now step
	tools, repeats, s := loopTools(&now), sched.NewRepeats(sched.RepeatLimits{}), sched.New(allowAll())
	for i := range 40 {
		if i%7 == 0 {
			repeats.Forget()
		}
		now = step{tool: "Read", input: "a", result: "a"}
		b := s.Start(t.Context(), &sched.BatchOptions{Tools: tools, Repeats: repeats})
		b.Add("x", now.tool, []byte(`{"text":"a"}`))
		b.End()
		for out := range b.Outcomes() {
			if out.Stop != "" {
				t.Fatalf("call %d: %s", i, out.Stop)
			}
		}
	}
}
