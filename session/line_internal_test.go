package session

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/haftdev/haft/internal/text/plainjson"
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
		if got, err := l.appendTo(nil); err != nil || string(got) != string(want) {
			t.Errorf("%s\nwant %s (%v)", got, want, err)
		}
	}
}

// A field that is added to a line is encoded, or the test above would have to say so.
func TestEveryFieldOfALineIsEncoded(t *testing.T) {
	var full line
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if !v.Type().Field(i).IsExported() {
			continue
		}
		switch f.Interface().(type) {
		case string:
			f.SetString("x")
		case bool:
			f.SetBool(true)
		case json.RawMessage:
			f.SetBytes([]byte(`{"a":1}`))
		default:
			f.Set(reflect.New(f.Type().Elem()))
		}
	}
	want, err := plainjson.Marshal(&full)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := full.appendTo(nil); err != nil || string(got) != string(want) {
		t.Errorf("%s\nwant %s (%v)", got, want, err)
	}
}

// What a line says is what encoding/json reads in it.
func TestALineIsReadAsTheDecoderWould(t *testing.T) {
	for _, s := range []string{
		`{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/p","sessionId":"s","version":"1","gitBranch":"main","type":"user","message":{"role":"user","content":"hi"},"uuid":"u","timestamp":"t"}`,
		` {"parentUuid" : "p" , "agentId":"a", "type":"user", "toolUseResult" : { "a" : 1 } , "unknown":[{}], "leafUuid":"l", "lastPrompt":"\u00fc\n", "logicalParentUuid":"q", "forkedFrom":{"a":"b"}} `,
		`{"sessionId":"s","type":"haft-call","haft":{"call":{"step":"judged","id":"c","useId":"t","tool":"Read","effect":3,"behavior":1,"reason":"r","input":{"a":1}}}}`,
		`{"sessionId":"s","type":"haft-call","haft":{"call":{"step":"dispatched","id":"c","useId":"t","tool":"Read","effect":3,"confinement":"write"}}}`,
		`{"sessionId":"s","type":"haft-call","haft":{"call":{"step":"dispatched","id":"c","useId":"t","tool":"Read","effect":3}}}`,
		`{"sessionId":"s","type":"haft-state","haft":{"state":{"name":"read","value": {"a": [1]} }}}`,
		`{"sessionId":"s","type":"haft-state","haft":{"state":{"name":"read","value":null}}}`,
		`{"type":"haft-state","haft":{"stop":{"id":"m","usage":{"input_tokens":1}},"state":null}}`,
		`{"haft":null,"tag":"x","isMeta":true,"isApiErrorMessage":true,"isCompactSummary":false,"compactMetadata":{"trigger":"auto","preTokens":5},"customTitle":"x","error":null,"subtype":"compact_boundary","content":"c"}`,
		`{"type":5}`, `{"haft":{"call":{"effect":"x"}}}`, `{"haft":{"state":5}}`, `{"uuid":"a","uuid":"b"}`, `{"isMeta":1}`, `{"a":1}}`, `[]`, `{`, ``,
	} {
		var want, got line
		wantErr, err := json.Unmarshal([]byte(s), &want), got.decode([]byte(s))
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n%+v (%v)\nwant %+v (%v)", s, got, err, want, wantErr)
		}
	}
}
