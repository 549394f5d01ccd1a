package task_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/task"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

// bench is a store with its tools by name.
type bench struct {
	t     *testing.T
	store *task.Store
	tools map[string]tool.Tool
}

func newBench(t *testing.T, dir string) *bench {
	b := &bench{t: t, store: task.NewStore(dir, nil), tools: map[string]tool.Tool{}}
	for _, tl := range task.New(b.store) {
		b.tools[tl.Name] = tl
	}
	return b
}

// call runs a tool for an agent and returns what the model reads, errors included.
func (b *bench) call(agent, name, in string) string {
	b.t.Helper()
	tl := b.tools[name]
	r, err := tl.Run(b.t.Context(), &tool.Call{Agent: agent, Input: []byte(in)})
	if err != nil {
		return "error: " + err.Error()
	}
	return r.Text()
}

func TestConformance(t *testing.T) {
	for _, name := range []string{"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tasks")
			b := newBench(t, dir)
			tooltest.Run(t, tooltest.Subject{
				Tool: b.tools[name],
				Valid: map[string][]string{
					"TaskCreate": {`{"subject":"a","description":"b"}`, `{"subject":"a","description":"","activeForm":"c","metadata":{"k":[1]}}`},
					"TaskGet":    {`{"taskId":"1"}`, `{"taskId":"99"}`},
					"TaskList":   {`{}`},
					"TaskUpdate": {`{"taskId":"1","status":"in_progress"}`, `{"taskId":"2","owner":"x","addBlockedBy":["1"],"metadata":{"k":null}}`, `{"taskId":"2","status":"deleted"}`},
				}[name],
				Reset: func(*testing.T) {
					os.RemoveAll(dir)
					b.call("", "TaskCreate", `{"subject":"a","description":"b","metadata":{"k":1}}`)
					b.call("", "TaskCreate", `{"subject":"c","description":"d"}`)
				},
			})
		})
	}
}

// TestADayOfWork is a dialogue: each call and what the model reads.
func TestADayOfWork(t *testing.T) {
	b := newBench(t, t.TempDir())
	for _, step := range [][4]string{
		{"", "TaskList", `{}`, "There are no tasks."},
		{"", "TaskCreate", `{"subject":"Design","description":"Draw it."}`, "Task 1 was added: Design"},
		{"", "TaskCreate", `{"subject":"Build","description":"Make it.","metadata":{"size":"L"}}`, "Task 2 was added: Build"},
		{"", "TaskCreate", `{"subject":"Test","description":"Try it."}`, "Task 3 was added: Test"},
		{"", "TaskUpdate", `{"taskId":"2","addBlockedBy":["1"],"addBlocks":["3"]}`, "Task 2 was changed: blocks, blockedBy."},
		{"", "TaskUpdate", `{"taskId":"1","addBlockedBy":["3"]}`, "error: Task 1 cannot wait for task 3, which already waits for it."},
		{"", "TaskUpdate", `{"taskId":"1","addBlocks":["1"]}`, "error: Task 1 cannot wait for itself."},
		{"", "TaskUpdate", `{"taskId":"1","addBlocks":["9"]}`, "error: There is no task 9. TaskList shows all tasks."},
		{"ann", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "Task 1 is now in_progress."},
		{"bob", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "error: Task 1 is being worked on by ann. Choose another task, or ask its owner to release it with an empty owner."},
		{"bob", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "Task 2 is now in_progress. It still waits for 1."},
		{"bob", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "Task 2 already had these values."},
		{"", "TaskList", `{}`, "1. [in_progress] Design (ann)\n2. [in_progress] Build (bob) waits for 1\n3. [pending] Test waits for 2"},
		{"ann", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "Task 1 is now completed. Tasks that can start now: 2."},
		{"bob", "TaskGet", `{"taskId":"2"}`, "Task 2: Build\nStatus: in_progress\nOwner: bob\nWaiting for it: 3\nsize: \"L\"\n\nMake it."},
		{"bob", "TaskUpdate", `{"taskId":"2","owner":"","metadata":{"size":null}}`, "Task 2 was changed: owner, metadata."},
		{"ann", "TaskUpdate", `{"taskId":"2","owner":"ann"}`, "Task 2 was changed: owner."},
		{"", "TaskUpdate", `{"taskId":"2","status":"deleted"}`, "Task 2 was deleted."},
		{"", "TaskGet", `{"taskId":"2"}`, "There is no such task. TaskList shows all tasks."},
		{"", "TaskCreate", `{"subject":"Ship","description":""}`, "Task 4 was added: Ship"},
		{"", "TaskList", `{}`, "1. [completed] Design (ann)\n3. [pending] Test\n4. [pending] Ship"},
	} {
		if got := b.call(step[0], step[1], step[2]); got != step[3] {
			t.Errorf("%s %s by %q\ngot  %s\nwant %s", step[1], step[2], step[0], got, step[3])
		}
	}
}

func TestTheListOutlivesItsStore(t *testing.T) {
	dir := t.TempDir()
	newBench(t, dir).call("", "TaskCreate", `{"subject":"a","description":"b"}`)
	if got := newBench(t, dir).call("", "TaskList", `{}`); got != "1. [pending] a" {
		t.Error(got)
	}
}

func TestADamagedListIsLeftAlone(t *testing.T) {
	for _, damaged := range []string{"{", "[]", `{"last":1,"tasks":[{"id":"1","blockedBy":["7"]}]}`, `{"last":0,"tasks":[{"id":"1"}]}`, strings.Repeat(" ", 2<<20)} {
		dir := t.TempDir()
		file := filepath.Join(dir, "tasks.json")
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, dir)
		for _, got := range []string{b.call("", "TaskList", `{}`), b.call("", "TaskCreate", `{"subject":"a","description":"b"}`)} {
			if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "task list") || !strings.Contains(got, "othing was changed") {
				t.Errorf("%.20s: %s", damaged, got)
			}
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != damaged {
			t.Errorf("the file was changed: %.100s, %v", now, err)
		}
	}
}

func TestAFullListSaysSo(t *testing.T) {
	b := newBench(t, t.TempDir())
	long := strings.Repeat("x", 8000)
	if err := b.store.Update(t.Context(), func(l *task.List) error {
		for l.Last < 129 {
			l.Last++
			l.Tasks = append(l.Tasks, task.Task{ID: strconv.Itoa(l.Last), Description: long, BlockedBy: []string{}})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	more := `{"subject":"a","description":"` + long + `"}`
	if got := b.call("", "TaskCreate", more); !strings.Contains(got, "The task list is full. Delete completed tasks") {
		t.Error(got)
	}
	if got := b.call("", "TaskUpdate", `{"taskId":"1","status":"deleted"}`); got != "Task 1 was deleted." {
		t.Error(got)
	}
	if got := b.call("", "TaskCreate", more); got != "Task 130 was added: a" {
		t.Error(got)
	}
}

func TestChangesAreTold(t *testing.T) {
	var told []string
	s := task.NewStore(t.TempDir(), &task.StoreOptions{Changed: func(l task.List) { told = append(told, fmt.Sprint(len(l.Tasks))) }})
	for _, tl := range task.New(s) {
		if tl.Name == "TaskCreate" {
			for range 2 {
				if _, err := tl.Run(t.Context(), &tool.Call{Input: []byte(`{"subject":"a","description":"b"}`)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if d := cmp.Diff([]string{"1", "2"}, told); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
}

// TestConcurrentUpdatesLoseNothing has 20 agents, some of them in other processes,
// change the same tasks at the same time.
func TestConcurrentUpdatesLoseNothing(t *testing.T) {
	const agents, rounds = 20, 5
	dir := t.TempDir()
	b := newBench(t, dir)
	b.call("", "TaskCreate", `{"subject":"shared","description":"x"}`)
	var working sync.WaitGroup
	for agent := range agents {
		working.Go(func() {
			if agent%4 == 0 {
				cmd := exec.Command(os.Args[0], "-test.run=^TestAgentInAnotherProcess$")
				cmd.Env = append(os.Environ(), "TASK_TEST_DIR="+dir, "TASK_TEST_AGENT="+strconv.Itoa(agent))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("agent %d: %v: %s", agent, err, out)
				}
				return
			}
			work(newBench(t, dir), agent, rounds)
		})
	}
	working.Wait()
	l, err := b.store.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Tasks) != 1+agents*rounds || l.Last != 1+agents*rounds {
		t.Errorf("%d tasks, the last is %d", len(l.Tasks), l.Last)
	}
	shared := l.Find("1")
	if len(shared.Metadata) != agents*rounds || len(shared.BlockedBy) != agents*rounds {
		t.Errorf("%d keys and %d dependencies are left of %d", len(shared.Metadata), len(shared.BlockedBy), agents*rounds)
	}
	seen := map[string]bool{}
	for _, tk := range l.Tasks {
		if seen[tk.ID] {
			t.Errorf("task %s is there twice", tk.ID)
		}
		seen[tk.ID] = true
	}
}

// work creates tasks, and leaves a key in the shared task, which waits for them.
func work(b *bench, agent, rounds int) {
	for round := range rounds {
		var out task.CreateOutput
		create := b.tools["TaskCreate"]
		r, err := create.Run(b.t.Context(), &tool.Call{Input: fmt.Appendf(nil, `{"subject":"%d/%d","description":""}`, agent, round)})
		if err != nil {
			b.t.Error(err)
			return
		}
		raw, _ := json.Marshal(r.Output)
		if err := json.Unmarshal(raw, &out); err != nil {
			b.t.Error(err)
		}
		got := b.call(fmt.Sprint(agent), "TaskUpdate", fmt.Sprintf(`{"taskId":"1","metadata":{"%d/%d":true},"addBlockedBy":["%s"]}`, agent, round, out.Task.ID))
		if strings.HasPrefix(got, "error") {
			b.t.Error(got)
		}
	}
}

func TestAgentInAnotherProcess(t *testing.T) {
	dir := os.Getenv("TASK_TEST_DIR")
	if dir == "" {
		t.Skip("it is a part of TestConcurrentUpdatesLoseNothing")
	}
	agent, err := strconv.Atoi(os.Getenv("TASK_TEST_AGENT"))
	if err != nil {
		t.Fatal(err)
	}
	work(newBench(t, dir), agent, 5)
}

func TestOnlyOneOfManyAgentsGetsATask(t *testing.T) {
	dir := t.TempDir()
	newBench(t, dir).call("", "TaskCreate", `{"subject":"a","description":"b"}`)
	var won, lost sync.Map
	var racing sync.WaitGroup
	for i := range 20 {
		racing.Go(func() {
			agent := fmt.Sprint("agent", i)
			if got := newBench(t, dir).call(agent, "TaskUpdate", `{"taskId":"1","status":"in_progress"}`); got == "Task 1 is now in_progress." {
				won.Store(agent, true)
			} else {
				lost.Store(agent, got)
			}
		})
	}
	racing.Wait()
	winners, losers := 0, 0
	won.Range(func(any, any) bool { winners++; return true })
	lost.Range(func(_, said any) bool {
		losers++
		if !strings.Contains(said.(string), "is being worked on by agent") {
			t.Error(said)
		}
		return true
	})
	if winners != 1 || losers != 19 {
		t.Errorf("%d agents got the task, %d did not", winners, losers)
	}
}
