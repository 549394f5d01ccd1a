package link_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// silent is a model that is never asked.
type silent struct{}

func (silent) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { yield(nil, errors.New("nobody may ask")) }
}

func TestNoticesWaitForTheConversation(t *testing.T) {
	l := link.New(nil)
	l.Warn("settings", "a key is wrong")
	l.Warn("settings", "a key is wrong")
	l.Tell("", "the mode is plan")
	l.Emit(agent.Changed{What: agent.Title, Value: "lost"}) // no notice: there is nobody to show it to
	a, err := agent.New(&agent.Options{Model: silent{}, ModelName: "m", Tools: tool.NewSet(nil, nil, nil, nil)})
	if err != nil {
		t.Fatal(err)
	}
	l.Attach(a)
	l.Tell("the third")
	l.Warn("settings", "a key is wrong")
	var got []string
	for ev, err := range a.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.Notice:
			got = append(got, ev.Level+": "+ev.Text)
		case agent.Changed:
			t.Errorf("told of %+v from before the conversation", ev)
		}
	}
	want := []string{"warning: a key is wrong", "notice: the mode is plan", "notice: the third"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// A warning that is always another one must not fill the memory, and what is forgotten for
// that is told again.
func TestWarningsAreRememberedUpToABound(t *testing.T) {
	told := map[string]int{}
	l := link.New(func(n agent.Notice) { told[n.Text]++ })
	for range 2 {
		for i := range 3000 {
			l.Warn("x", fmt.Sprint(i))
		}
	}
	l.Warn("x", "2999")
	if told["0"] != 2 || told["2999"] != 2 {
		t.Errorf("the first was told %d times and the last %d times, want twice each: once in each round", told["0"], told["2999"])
	}
}

func TestWithoutASessionNothingIsKept(t *testing.T) {
	l := link.New(func(n agent.Notice) { t.Errorf("told %q", n.Text) })
	l.Save("todos", []int{1})
	l.Say("hello")
	l.Notify(agent.Task{})
	l.Spend("m", model.Usage{})
	if f, err := l.Hold(); f != nil || err != nil {
		t.Errorf("Hold = %v, %v; want nothing to hold", f, err)
	}
}
