package audit

import (
	"fmt"
	"time"

	"github.com/haftdev/haft/internal/plainjson"
)

// encode is [json.Marshal] of an entry in a fraction of its time: there is one for every call.
func (e *Entry) encode() ([]byte, error) {
	b := make([]byte, 0, 512+len(e.Input)+len(e.InputHead)+len(e.Reason))
	b = append(b, `{"time":"`...)
	b = append(e.Time.AppendFormat(b, time.RFC3339Nano), '"')
	text := func(name, value string) {
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = plainjson.AppendString(b, value)
	}
	optional := func(name, value string) {
		if value != "" {
			text(name, value)
		}
	}
	optional("session", e.Session)
	text("tool_use_id", e.UseID)
	optional("agent", e.Agent)
	text("tool", e.Tool)
	if len(e.Input) > 0 {
		var err error
		if b, err = plainjson.AppendCompact(append(b, `,"input":`...), e.Input); err != nil {
			return nil, fmt.Errorf("encode the input: %w", err)
		}
	}
	optional("input_head", e.InputHead)
	if e.InputBytes != 0 {
		b = fmt.Appendf(b, `,"input_bytes":%d`, e.InputBytes)
	}
	optional("input_sha256", e.InputDigest)
	optional("mode", e.Mode)
	text("behavior", e.Behavior)
	optional("reason", e.Reason)
	optional("rule", e.Rule)
	optional("origin", e.Origin)
	optional("approved", e.Approved)
	optional("confinement", e.Confinement)
	optional("cwd", e.Cwd)
	return append(b, '}'), nil
}
