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
