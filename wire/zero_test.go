package wire

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// meansNothing are the numbers that are left out when they are 0, and why a reader
// loses nothing. A number that is measured or counted is not among them: on a fast
// machine it is 0, and a program that waits for it would miss it.
var meansNothing = map[string]string{
	"Agent.MaxTurns":                    "0 sets no limit, as if it were absent",
	"Assistant.ThinkingDurationMS":      "sent with thinking only, which haft does not time",
	"ContextUsage.AutoCompactThreshold": "0 is no threshold; isAutoCompactEnabled says so",
	"HookInput.ContextTokens":           "of one event; haft sends hook.Input, which has no such field",
	"HookInput.DurationMS":              "of two events; haft sends hook.Input, which always has it there",
	"HookMatcher.Timeout":               "0 is the default, as if it were absent",
	"HookOutput.AsyncTimeout":           "0 is the default, as if it were absent",
	"InitializeReply.PID":               "no process has the number 0",
	"ListedHook.Timeout":                "0 is the default, as if it were absent",
	"ModelUsage.ThinkingTokens":         "haft does not count them",
	"ReadFile.MaxBytes":                 "0 sets no limit, as if it were absent",
	"TaskPatch.EndTime":                 "a date, absent while the task runs",
	"TaskStarted.SpawnDepth":            "0 is the conversation itself, which is no task",
}

func TestNoMeasuredZeroIsLeftOut(t *testing.T) {
	unused, seen := maps.Clone(meansNothing), map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			look(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			look(f.Type)
			numeric := f.Type.Kind() >= reflect.Int && f.Type.Kind() <= reflect.Float64
			if tag := f.Tag.Get("json"); numeric && (strings.Contains(tag, "omitempty") || strings.Contains(tag, "omitzero")) {
				name := typ.Name() + "." + f.Name
				if meansNothing[name] == "" {
					t.Errorf("%s is left out when it is 0: make it a pointer or always send it, or say here why 0 is nothing", name)
				}
				delete(unused, name)
			}
		}
	}
	look(reflect.TypeFor[HookInput]()) // what a host reads in a request that carries it raw
	for _, k := range Kinds() {
		look(reflect.TypeOf(k.New()))
	}
	for _, k := range Requests() {
		look(reflect.TypeOf(k.New()))
		if k.Reply != nil {
			look(reflect.TypeOf(k.Reply))
		}
	}
	if len(unused) > 0 {
		t.Errorf("no such fields: %v", slices.Sorted(maps.Keys(unused)))
	}
}
