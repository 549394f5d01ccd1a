package schema

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// Names maps properties that the model knows under other names to the names of the schema's
// owner. Providers accept only letters, digits, _, . and -, at most 64 of them.
type Names map[string]string

// Back returns an input with the names of the schema's owner.
func (n Names) Back(input json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if len(n) == 0 || json.Unmarshal(input, &members) != nil {
		return input
	}
	changed := false
	for ours, theirs := range n {
		if value, ok := members[ours]; ok {
			delete(members, ours)
			members[theirs], changed = value, true
		}
	}
	if !changed {
		return input
	}
	raw, err := plainjson.Marshal(members)
	if err != nil {
		return input
	}
	return raw
}

const maxName = 64
