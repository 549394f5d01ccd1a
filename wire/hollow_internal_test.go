package wire

import (
	"encoding/json"
	"testing"
)

// A message is put together of parts that are JSON already; it is the one that the encoder would write.
func TestMessagesAreEncodedAsTheEncoderWould(t *testing.T) {
	block := func(raw string) Block { return Block{Type: "x", Raw: json.RawMessage(raw)} }
	tricky := `{"content":[0],"tool_use_result":0,"a":"\"content\":[0]"}`
	text := `"content":[0],"tool_use_result":0`
	base := Base{Extra: map[string]json.RawMessage{"content": json.RawMessage("[0]"), "tool_use_result2": json.RawMessage("0")}}
	for _, m := range []Message{
		&Assistant{Stamp: Stamp{UUID: text, SessionID: text}, Message: AssistantMessage{Model: text, Content: []Block{block(tricky), block(` [ 1, 2 ] `)}, StopDetails: json.RawMessage(tricky)}, Error: text},
		&Assistant{Message: AssistantMessage{Content: []Block{}}},
		&Assistant{Message: AssistantMessage{Content: []Block{Text("a"), block(tricky)}}},
		&Assistant{Stamp: Stamp{Base: base}, Message: AssistantMessage{Content: []Block{block("0")}}},
		&User{Base: base, SessionID: text, UUID: text, Timestamp: text, Message: UserMessage{Role: text, Content: Content{Blocks: []Block{block(tricky)}}}, ToolUseResult: json.RawMessage(tricky), Origin: json.RawMessage(tricky)},
		&User{Message: UserMessage{Content: Content{Blocks: []Block{block(tricky)}}}, ToolUseResult: json.RawMessage("{\n \"a\" : 1 }")},
		&User{Message: UserMessage{Content: Content{Text: text}}, ToolUseResult: json.RawMessage(tricky)},
		&User{Message: UserMessage{Content: Content{Blocks: []Block{Text(text)}}}, ToolUseResult: json.RawMessage("0")},
	} {
		want, err := tagged(m, m.base().Extra, "type", m.Tag().Type)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Encode(m); err != nil || string(got) != string(want) {
			t.Errorf("%s (%v)\nwant %s", got, err, want)
		}
	}
	for _, m := range []Message{
		&Assistant{Message: AssistantMessage{Content: []Block{block("{")}}},
		&User{Message: UserMessage{Content: Content{Blocks: []Block{block(tricky)}}}, ToolUseResult: json.RawMessage("{")},
	} {
		if got, err := Encode(m); err == nil {
			t.Errorf("what is not JSON was encoded: %s", got)
		}
	}
}
