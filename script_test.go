//go:build unix

package haft_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

func say(text string) script.Block { return script.Block{Text: text} }

func use(id, tool string, input any) script.Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return script.Block{ID: id, Tool: tool, Input: raw}
}

// scripted starts a model that answers with the given blocks, turn by turn.
func scripted(t testing.TB, turns ...[]script.Block) *script.Server {
	t.Helper()
	s := &script.Scenario{Side: &script.Turn{Blocks: []script.Block{say("done")}}}
	for _, blocks := range turns {
		s.Turns = append(s.Turns, script.Turn{Blocks: blocks})
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	return srv
}
