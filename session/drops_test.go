package session

import (
	"testing"

	"github.com/haftdev/haft/model"
)

// What a resume may leave out are a user's prompts; everything else around them goes along.
func TestOnlyAUsersWordsAreAPrompt(t *testing.T) {
	text := []model.Block{model.TextOf("go")}
	for name, c := range map[string]struct {
		m    Message
		want bool
	}{
		"a prompt":                  {Message{Role: model.User, Content: text}, true},
		"what haft said for a user": {Message{Role: model.User, Content: text, Synthetic: true}, false},
		"an answer":                 {Message{Role: model.Assistant, Content: text}, false},
		"a result":                  {Message{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: "1"}}}, false},
		"nothing":                   {Message{Role: model.User}, false},
	} {
		if got := c.m.prompts(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
