package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/haftdev/haft/tool/schema"
)

func TestRelativePathsBeginWhereTheAgentWorks(t *testing.T) {
	type input struct {
		File string `json:"file" haft:"path;example=/a"`
		Text string `json:"text,omitempty"`
	}
	view := schema.Of[input]().View(nil)
	for in, want := range map[string]string{
		`{"file":"a.go","text":"b.go"}`: `{"file":"/project/dir/a.go","text":"b.go"}`,
		`{"file":"./a.go"}`:             `{"file":"/project/dir/a.go"}`,
		`{"file":"link/../a"}`:          `{"file":"/project/dir/link/../a"}`,
		`{"file":"/a.go"}`:              `{"file":"/a.go"}`,
		`{"file":"~/a.go"}`:             `{"file":"~/a.go"}`,
		`{"file":"file:///a"}`:          `{"file":"file:///a"}`,
		`{"file":"C:\\a"}`:              `{"file":"C:\\a"}`,
	} {
		got, repairs := view.Resolve(json.RawMessage(in), "/project/dir")
		if string(got) != want || (len(repairs) > 0) != (in != want) {
			t.Errorf("%s: %s, %v", in, got, repairs)
		}
	}
}
