package todo_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/tools/todo"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
)

func TestConformance(t *testing.T) {
	tooltest.Run(t, tooltest.Subject{
		Tool: todo.New(todo.NewList(nil)),
		Valid: []string{
			`{"todos":[]}`,
			`{"todos":[{"content":"Run the tests","status":"in_progress","activeForm":"Running the tests"},{"content":"Commit","status":"pending"}]}`,
		},
	})
}

func write(t *testing.T, list *todo.List, agent, in string) tool.Result {
	t.Helper()
	w := todo.New(list)
	r, err := w.Run(t.Context(), &tool.Call{Agent: agent, Input: []byte(in)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	begun = `{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}]}`
	done  = `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"completed"}]}`
	idle  = `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}`
)

func TestAWriteReplacesTheListAndReturnsBoth(t *testing.T) {
	list := todo.NewList(nil)
	write(t, list, "", begun)
	out, err := json.Marshal(write(t, list, "", done).Output)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"oldTodos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}],` +
		`"newTodos":[{"content":"a","status":"completed"},{"content":"b","status":"completed"}]}`
	if d := cmp.Diff(want, string(out)); d != "" {
		t.Errorf("output (-want +got):\n%s", d)
	}
}

func TestTheModelIsToldWhatComesNext(t *testing.T) {
	for in, want := range map[string]string{
		begun:          "The todo list is saved: 0 of 2 done. Continue with what is in progress.",
		done:           "The todo list is saved: 2 of 2 done. Everything is done.",
		idle:           "The todo list is saved: 1 of 2 done. Set the step you are working on to in_progress.",
		`{"todos":[]}`: "The todo list is now empty.",
	} {
		if got := write(t, todo.NewList(nil), "", in).Text(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestEachAgentHasItsOwnListAndEveryChangeIsTold(t *testing.T) {
	var told []string
	list := todo.NewList(&todo.ListOptions{Changed: func(agent string, items []todo.Item) {
		told = append(told, fmt.Sprintf("%q %d", agent, len(items)))
	}})
	write(t, list, "", begun)
	write(t, list, "a1", done)
	write(t, list, "a1", done) // changes nothing
	list.Forget("a1")
	if d := cmp.Diff([]string{`"" 2`, `"a1" 2`, `"a1" 0`}, told); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
	if list.Items("")[0].Status != todo.InProgress || len(list.Items("a1")) != 0 {
		t.Errorf("lists: %v", list.Snapshot())
	}
}

func TestASessionRestoresWhatItKept(t *testing.T) {
	list := todo.NewList(nil)
	write(t, list, "", begun)
	write(t, list, "a1", idle)
	kept, err := json.Marshal(list.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	var saved map[string][]todo.Item
	if err := json.Unmarshal(kept, &saved); err != nil {
		t.Fatal(err)
	}
	restored := todo.NewList(&todo.ListOptions{Items: saved})
	if d := cmp.Diff(list.Snapshot(), restored.Snapshot()); d != "" {
		t.Errorf("restored (-want +got):\n%s", d)
	}
	saved[""][0].Content = "changed later"
	if restored.Items("")[0].Content != "a" {
		t.Error("the list shares memory with its options")
	}
}

func TestAgentsWriteAtTheSameTime(t *testing.T) {
	last := make(map[string]int)
	list := todo.NewList(&todo.ListOptions{Changed: func(agent string, items []todo.Item) { last[agent] = len(items) }})
	var writing sync.WaitGroup
	for i := range 20 {
		writing.Go(func() { write(t, list, fmt.Sprint(i), begun) })
	}
	writing.Wait()
	if len(list.Snapshot()) != 20 || len(last) != 20 {
		t.Errorf("%d lists, %d told", len(list.Snapshot()), len(last))
	}
}
