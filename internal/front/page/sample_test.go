//go:build unix

package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A writer writes a journal with times of its own.
type writer struct {
	t  testing.TB
	s  *session.Session
	at time.Time
	n  int
}

func newWriter(t testing.TB, store *session.Store, cwd string) *writer {
	t.Helper()
	s, err := store.Create(t.Context(), &session.CreateOptions{Cwd: cwd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &writer{t: t, s: s, at: time.Date(2026, 11, 14, 9, 30, 0, 0, time.UTC)}
}

// add appends an entry after a while.
func (w *writer) add(wait time.Duration, e session.Entry) {
	w.t.Helper()
	w.at = w.at.Add(wait)
	e.Time = w.at
	if err := w.s.Append(w.t.Context(), e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) prompt(wait time.Duration, text string) {
	w.add(wait, session.Entry{Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}})
}

// answer adds blocks of an answer by an agent; "" is the main one.
func (w *writer) answer(wait time.Duration, agent string, stop model.StopReason, blocks ...model.Block) {
	w.n++
	w.add(wait, session.Entry{Agent: agent, Message: &session.Message{
		Role: model.Assistant, Content: blocks, ID: fmt.Sprint("m", w.n), Model: "claude-sonnet-4-5", StopReason: stop,
		Usage: model.Usage{Input: 800, Output: 350, CacheRead: int64(9000 + 1400*w.n), CacheWrite: 900},
	}})
}

func use(id, name string, input any) model.Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return model.Block{Type: model.ToolUse, ID: id, Name: name, Input: raw}
}

func (w *writer) judged(wait time.Duration, agent, id string, b tool.Behavior, reason string, c tool.Confinement) {
	w.add(wait, session.Entry{Agent: agent, Call: &session.Call{Step: session.Judged, ID: "c" + id, UseID: id, Behavior: b, Reason: reason, Confinement: c}})
}

func (w *writer) started(wait time.Duration, agent, id string, effect tool.Effect) {
	w.add(wait, session.Entry{Agent: agent, Call: &session.Call{Step: session.Dispatched, ID: "c" + id, UseID: id, Effect: effect}})
}

func (w *writer) returned(wait time.Duration, agent, id, text string, failed bool, output any, more ...tool.Block) {
	m := &session.Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: id, IsError: failed, Content: append([]tool.Block{{Type: tool.TextBlock, Text: text}}, more...)}}}
	if output != nil {
		m.Output, _ = json.Marshal(output)
	}
	w.add(wait, session.Entry{Agent: agent, Message: m})
}

type in map[string]any

const ms = time.Millisecond

// sample writes a session in which everything happens that the page shows.
func sample(t testing.TB, store *session.Store, cwd string) *session.Session {
	w := newWriter(t, store, cwd)
	title, _ := json.Marshal("Fix the flaky retry test")
	w.add(0, session.Entry{State: &session.State{Name: "title", Value: title}})
	w.prompt(0, "The retry test in this package is flaky. Find out why and fix it.")
	w.answer(1400*ms, "", "tool_use", model.Block{Type: model.Thinking, Text: "The test probably sleeps. I should look at the code and at its callers **at once**."},
		model.TextOf("I will read the package and look for what sleeps."),
		use("r1", "Read", in{"file_path": filepath.Join(cwd, "retry/retry.go")}), use("r2", "Read", in{"file_path": filepath.Join(cwd, "retry/retry_test.go")}), use("g1", "Grep", in{"pattern": "time.Sleep"}))
	for _, id := range []string{"r1", "r2", "g1"} {
		w.judged(8*ms, "", id, tool.Allow, "reads only: allowed by the rule Read(./**) of .claude/settings.json:4", "")
		w.started(4*ms, "", id, tool.Pure)
	}
	w.returned(90*ms, "", "r2", "package retry\n\nfunc TestRetry(t *testing.T) {\n\ttime.Sleep(10 * time.Millisecond)\n}\n", false, nil)
	w.returned(150*ms, "", "g1", "retry/retry_test.go:4:\ttime.Sleep(10 * time.Millisecond)", false, nil)
	w.returned(120*ms, "", "r1", "package retry\n\n// Do tries until it works.\nfunc Do(f func() error) error {\n\treturn f()\n}\n", false, nil)
	todos, _ := json.Marshal([]in{{"content": "Find the cause", "status": "completed", "activeForm": "x"}, {"content": "Use a fake clock", "status": "in_progress", "activeForm": "x"}, {"content": "Run the tests 100 times", "status": "pending", "activeForm": "x"}})
	w.add(10*ms, session.Entry{State: &session.State{Name: "todos", Value: todos}})
	w.answer(2100*ms, "", "tool_use", model.TextOf("The test **sleeps** and hopes:\n\n1. `Do` waits 10 ms between attempts,\n2. the test waits exactly as long.\n\n| part | waits |\n|---|---|\n| `Do` | 10 ms |\n| test | 10 ms |\n\n```go\n// A clock that a test can turn.\ntype clock interface{ Now() time.Time }\n```\n\nSee [the guide](https://go.dev/blog/synctest) for more."),
		use("e1", "Edit", in{"file_path": filepath.Join(cwd, "retry/retry_test.go"), "old_string": "time.Sleep(10 * time.Millisecond)", "new_string": "synctest.Wait()"}))
	w.add(5*ms, session.Entry{Ask: &session.Ask{ID: "q1", CallID: "ce1", UseID: "e1", Tool: "Edit", Reason: "no rule allows it"}})
	w.add(3200*ms, session.Entry{Answer: &session.Answer{ID: "q1", By: "the web page", Behavior: tool.Allow}})
	w.judged(2*ms, "", "e1", tool.Allow, "the user allowed it", "")
	w.started(2*ms, "", "e1", tool.Idempotent)
	w.add(20*ms, session.Entry{Checkpoint: &session.Checkpoint{CallID: "ce1", Path: filepath.Join(cwd, "retry/retry_test.go")}})
	w.returned(30*ms, "", "e1", "The file was changed.", false, in{"filePath": filepath.Join(cwd, "retry/retry_test.go"), "structuredPatch": []in{{"oldStart": 1, "oldLines": 6, "newStart": 1, "newLines": 6,
		"lines": []string{" package retry", " ", "-func TestRetry(t *testing.T) {", "-\ttime.Sleep(10 * time.Millisecond)", "+func TestRetryWaits(t *testing.T) {", "+\tsynctest.Wait() // no hope needed", " }"}}}})
	w.answer(1600*ms, "", "tool_use", model.TextOf("Now the tests, while an agent looks for other sleeps."),
		use("b1", "Bash", in{"command": "go test -count=100 ./retry", "description": "Run the test 100 times"}), use("a1", "Agent", in{"description": "Find sleeps", "prompt": "Find tests that sleep."}), use("b2", "Bash", in{"command": "rm -rf /", "description": "clean up"}))
	w.judged(3*ms, "", "b1", tool.Allow, "go test runs in the sandbox", "project")
	w.started(2*ms, "", "b1", tool.Unsafe)
	w.judged(3*ms, "", "a1", tool.Allow, "agents are allowed", "")
	w.started(2*ms, "", "a1", tool.Unsafe)
	w.judged(1*ms, "", "b2", tool.Deny, "rm -rf / removes the root folder", "")
	w.returned(2*ms, "", "b2", "Permission denied: rm -rf / removes the root folder", true, nil)
	w.add(5*ms, session.Entry{Agent: "scout", Message: &session.Message{Role: model.User, Content: []model.Block{model.TextOf("Find tests that sleep.")}}})
	w.answer(900*ms, "scout", "tool_use", use("s1", "Grep", in{"pattern": "Sleep\\("}), use("s2", "Glob", in{"pattern": "**/*_test.go"}))
	w.judged(2*ms, "scout", "s1", tool.Allow, "reads only", "")
	w.started(2*ms, "scout", "s1", tool.Pure)
	w.judged(2*ms, "scout", "s2", tool.Allow, "reads only", "")
	w.started(2*ms, "scout", "s2", tool.Pure)
	w.returned(340*ms, "scout", "s2", "a_test.go\nb_test.go", false, nil)
	w.returned(280*ms, "scout", "s1", "No matches.", false, nil)
	w.answer(700*ms, "scout", "end_turn", model.TextOf("No other test sleeps."))
	w.returned(10*ms, "", "a1", "No other test sleeps.", false, nil)
	w.returned(2300*ms, "", "b1", "=== RUN   TestRetryWaits\n\x1b[31m--- FAIL: TestRetryWaits (0.00s)\x1b[0m\n    retry_test.go:4: \x1b[1mundefined: synctest\x1b[0m\nFAIL", true, nil)
	w.answer(1500*ms, "", "end_turn", model.TextOf("An import is missing. I stop here so that you can look."))
	w.prompt(2*time.Hour, "Add the import, then show me a picture of the result.")
	w.answer(1200*ms, "", "tool_use", use("b3", "Bash", in{"command": "go test -count=100 ./retry && plot"}))
	w.judged(2*ms, "", "b3", tool.Allow, "go test runs in the sandbox", "project")
	w.started(2*ms, "", "b3", tool.Unsafe)
	w.returned(1900*ms, "", "b3", "\x1b[32mok\x1b[0m  \tretry\t0.012s", false, nil, tool.Block{Type: tool.ImageBlock, MediaType: "image/png", Data: picture()})
	w.answer(1100*ms, "", "end_turn", model.TextOf("100 runs, no failure. The test no longer depends on the clock of the machine."))
	return w.s
}

// picture is a small image.
func picture() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 160, 60))
	for x := range 160 {
		for y := range 60 {
			if float64(y) > 30-20*math.Sin(float64(x)/12) {
				img.Set(x, y, color.RGBA{63, 127, 176, 255})
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// exported writes a session as a file and returns its address.
func exported(t testing.TB, s *session.Session, cwd string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.html")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.ExportOf(t.Context(), file, &session.Info{ID: s.ID(), Path: s.Path(), Cwd: cwd}, nil); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}
