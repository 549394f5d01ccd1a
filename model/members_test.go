package model_test

import (
	"testing"

	"github.com/haftdev/haft/model"
)

// A block that has more than its fields hold keeps its raw form, and one that has not does not.
func TestBlocksWithMoreThanTheirFields(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"text","text":"a"}`:                                            false,
		` { "type" : "text" , "text" : "a\"}" } `:                               false,
		`{"type":"text","text":"a","citations":null}`:                           false,
		`{"type":"text","text":"a","citations": null }`:                         false,
		`{"type":"text","text":"a","citations":[]}`:                             true,
		`{"type":"text","cache_control":{"type":"ephemeral"},"text":"a"}`:       true,
		`{"type":"text","text":"a","n":1}`:                                      true,
		`{"type":"text","text":"a","b":true}`:                                   true,
		`{"type":"text","text":"a","s":"x"}`:                                    true,
		`{"type":"tool_use","id":"1","name":"n","input":{"x":[1,{"y":null}]}}`:  false,
		`{"type":"tool_use","id":"1","name":"n","input":{},"caller":"x"}`:       true,
		`{"type":"tool_use","input":{"caller":"x","z":[]},"id":"1","name":"n"}`: false,
		`{"type":"tool_use","input":null,"id":"1","name":"n"}`:                  false,
		`{"type":"text","TEXT":"a"}`:                                            true,
	} {
		var b model.Block
		if err := b.UnmarshalJSON([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if got := b.Raw != nil; got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}
