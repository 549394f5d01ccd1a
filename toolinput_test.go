package haft_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/tool"
)

// The fields of the types for inputs are those of the tools, with types that take their values.
func TestInputsAreThoseOfTheTools(t *testing.T) {
	set := tool.NewSet(&tool.Session{Flags: map[string]bool{bash.BackgroundFlag: true}}, builtin.Unattached(), nil, nil)
	for name, input := range map[string]any{
		"Bash": haft.BashInput{}, "Read": haft.ReadInput{}, "Edit": haft.EditInput{}, "Write": haft.WriteInput{}, "WebFetch": haft.WebFetchInput{},
	} {
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(set.View(set.Lookup(name)).JSON(), &schema); err != nil {
			t.Fatal(err)
		}
		kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean"}
		for f := range reflect.TypeOf(input).Fields() {
			field := f.Tag.Get("json")
			if got := schema.Properties[field].Type; got != kinds[f.Type.Kind()] {
				t.Errorf("%s of %s is %q, and %v in the type", field, name, got, f.Type)
			}
		}
	}
	// A policy must not be misled by how JSON spells a text.
	in, err := haft.InputOf[haft.BashInput](json.RawMessage(`{"command":"\u0072m -rf /"}`))
	if err != nil || in.Command != "rm -rf /" {
		t.Errorf("%q, %v", in.Command, err)
	}
	if _, err := haft.InputOf[haft.BashInput](json.RawMessage(`{"command":1}`)); err == nil || !strings.Contains(err.Error(), "decode the input of a call") {
		t.Errorf("not a text: %v", err)
	}
}
