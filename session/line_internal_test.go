package session

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/internal/plainjson"
)

// A line is put together of parts that are JSON already; it is the one that the encoder would write.
func TestALineIsEncodedAsTheEncoderWould(t *testing.T) {
	tag := `,"message":0,"toolUseResult":0`
	for _, l := range []line{
		{SessionID: "s", Type: "summary"},
		{SessionID: "s", Type: "user", Message: json.RawMessage(`{"role":"user","content":"a <b> & ,\"message\":0"}`)},
		{SessionID: tag, Cwd: tag, GitBranch: tag, Content: tag, Parent: json.RawMessage(`"p"`), Type: "user", Message: json.RawMessage(`{"content":[]}`), ToolUseResult: json.RawMessage(`{"message":0}`)},
		{SessionID: "s", Type: "user", ToolUseResult: json.RawMessage(`"x"`), Tag: &tag},
		{SessionID: "s", Type: "user", Message: json.RawMessage("{}"), ToolUseResult: json.RawMessage("{\n\"a\": 1}")},
	} {
		want, err := plainjson.Marshal(&l)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.encode(); err != nil || string(got) != string(want) {
			t.Errorf("%s\nwant %s (%v)", got, want, err)
		}
	}
}
