package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everything uses each keyword that deriving can produce.
type everything struct {
	S string           `json:"s" jsonschema:"A <string> & more." haft:"min=1;max=9;default=a;example=a;pattern=^[a-z]*$"`
	N float64          `json:"n,omitempty" haft:"min=-0.5;max=1e6"`
	I int              `json:"i,omitempty" haft:"enum=1|2"`
	B bool             `json:"b,omitempty" haft:"default=true"`
	L []everythingItem `json:"l,omitempty" haft:"min=1;max=3"`
	M map[string]int8  `json:"m,omitempty"`
	R json.RawMessage  `json:"r,omitempty"`
	U union            `json:"u,omitzero"`
	E struct{}         `json:"e,omitzero"`
	P *everythingItem  `json:"p,omitempty"`
	K []string         `json:"k,omitempty" haft:"enum=x|y"`
}

type everythingItem struct {
	A [2]bool `json:"a"`
}

type union struct{}

func (union) Variants() []any { return []any{"", 0, []string{}, everythingItem{}} }

func TestEncodeSaysWhatTheLibrarySays(t *testing.T) {
	src, err := derive(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	p := &projector{src: src, opts: new(ViewOptions)}
	visible, _ := p.project(src.root)
	library, err := json.Marshal(visible)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal(library, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encode(visible), &got); err != nil {
		t.Fatalf("%v in %s", err, encode(visible))
	}
	// The library writes the schema that allows everything as true; both are the same.
	props := want.(map[string]any)["properties"].(map[string]any)
	props["r"] = map[string]any{}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-library +ours):\n%s", d)
	}
}
