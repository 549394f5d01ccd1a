package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
)

// sentence ends a text with a period, unless it already ends a sentence: a hook writes its
// reason as it likes.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// readable returns what a user sent in a form that can be sent on: an unknown part or an
// empty message would be refused again and again.
func readable(content []model.Block) []model.Block {
	var said []model.Block
	for _, b := range content {
		b = unmarked(b)
		if _, err := json.Marshal(b); err != nil {
			b = model.TextOf("[Part of the message could not be read: " + err.Error() + "]")
		}
		if !blank(b) {
			said = append(said, b)
		}
	}
	if said == nil {
		said = []model.Block{model.TextOf("(empty message)")}
	}
	return said
}

// unmarked removes the cache mark from a block. A request has few, and the client sets them
// where they help.
func unmarked(b model.Block) model.Block {
	const mark = "cache_control"
	var members map[string]json.RawMessage
	if !bytes.Contains(b.Raw, []byte(mark)) || json.Unmarshal(b.Raw, &members) != nil || members[mark] == nil {
		return b
	}
	delete(members, mark)
	raw, err := plainjson.Marshal(members)
	var plain model.Block
	if err != nil || json.Unmarshal(raw, &plain) != nil {
		return b
	}
	return plain
}
