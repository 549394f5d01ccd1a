package harness_test

import (
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

// What every session pays before anything is said stays small: about 6,500 tokens, at the
// four bytes for a token that the scripted model counts by.
func TestTheFirstRequestIsSmall(t *testing.T) {
	r := newRig(t, script.Turn{Blocks: []script.Block{{Text: "hello"}}})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "hi")
	tokens := len(r.server.Requests()[0].Body) / 4
	t.Logf("%d tokens", tokens)
	if tokens > 6500 {
		t.Errorf("the first request has %d tokens, want at most 6500", tokens)
	}
}
