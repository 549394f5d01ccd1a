package session

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

var _ sched.Recorder = (*Session)(nil)

// ResultBlock returns what the model reads of a call's outcome, as recorded in the journal.
func ResultBlock(out *sched.Outcome) model.Block {
	return model.Block{Type: model.ToolResult, UseID: out.UseID, Content: out.Result.Content, IsError: out.IsError()}
}

// confined is what an output says about it.
func confined(output any) *Confined {
	if c, ok := output.(tool.Confined); ok {
		if to, tier := c.ConfinedTo(); to != "" {
			return &Confined{To: to, Tier: tier}
		}
	}
	return nil
}

// typedOutput is what programs read: the tool's output, or a string if it failed.
func typedOutput(out *sched.Outcome) json.RawMessage {
	var v any = out.Result.Output
	if out.IsError() {
		v = "Error: " + out.Result.Text()
	} else if v == nil {
		v = out.Result.Text()
	}
	raw, err := plainjson.Marshal(v)
	if err != nil { // a tool's output that cannot be encoded is the tool's fault, not the session's
		return nil
	}
	return raw
}
