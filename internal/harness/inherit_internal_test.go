package harness

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
)

// How each option of the loop reaches the agents that work for a conversation.
const (
	inherited = "Model Resolve Thinking Effort Betas MaxTokens Context Cost Refused Mode Person Hooks Repeats Source Sched"
	theirOwn  = "Agent AgentType ModelName Journal Tools System Facts News Carry Limits Permissions"
	restored  = "History HistoryTokens Revealed" // by an agent that continues; otherwise empty
	not       = "Spent Beside States Renew TaskBudget Structured PlanModel Busy"

	schedInherited = "Askers Questions Hooks Recorder Dir Output Missing MessageLimit MaxConcurrent SiblingErrors CancelGrace"
	schedOwn       = "Judge Who"
	schedNot       = "Feeds"
)

// TestEveryOptionIsInheritedOrNot fails for an option that is new to the loop until
// someone has decided what it is to agents, and for one that inherit treats otherwise.
func TestEveryOptionIsInheritedOrNot(t *testing.T) {
	checkFields(t, reflect.TypeFor[agent.Options](), inherited, theirOwn, restored, not)
	checkFields(t, reflect.TypeFor[sched.Options](), schedInherited, schedOwn, schedNot)

	var full agent.Options
	fill(reflect.ValueOf(&full).Elem())
	got := inherit(&full)
	checkInherited(t, reflect.ValueOf(got), inherited)
	checkInherited(t, reflect.ValueOf(got.Sched), schedInherited)
}

// checkFields wants each field of a struct in exactly one list.
func checkFields(t *testing.T, s reflect.Type, lists ...string) {
	t.Helper()
	classified := strings.Fields(strings.Join(lists, " "))
	for _, f := range reflect.VisibleFields(s) {
		if n := len(slices.DeleteFunc(slices.Clone(classified), func(name string) bool { return name != f.Name })); n != 1 {
			t.Errorf("%s.%s is in %d lists: say in this test whether agents inherit it, and do so in inherit", s, f.Name, n)
		}
	}
	if len(classified) != s.NumField() {
		t.Errorf("%d names for the %d fields of %s", len(classified), s.NumField(), s)
	}
}

func checkInherited(t *testing.T, v reflect.Value, names string) {
	t.Helper()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if want := slices.Contains(strings.Fields(names), name); want == v.Field(i).IsZero() {
			t.Errorf("%s.%s is inherited: %t, want %t", v.Type(), name, !want, want)
		}
	}
}

// fill gives every field of a struct, and of the structs in it, a value other than zero.
// Interfaces get whatever implements them here.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			fill(f)
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { panic("not called") }))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Float64:
			f.SetFloat(1)
		case reflect.Interface:
			for _, filler := range fillers {
				if reflect.TypeOf(filler).Implements(f.Type()) {
					f.Set(reflect.ValueOf(filler))
				}
			}
		}
	}
}

// fillers implement the interfaces of the options; nothing calls them.
var fillers = []any{
	struct{ model.Model }{}, struct{ agent.Hooks }{}, struct{ agent.Permissions }{}, struct{ agent.Journal }{},
	struct{ sched.Judge }{}, struct{ sched.Asker }{}, struct{ sched.Hooks }{}, struct{ sched.Recorder }{}, struct{ sched.Keeper }{},
}
