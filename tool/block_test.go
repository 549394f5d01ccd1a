package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/tool"
)

func TestBlocksAreWrittenAsOnTheWire(t *testing.T) {
	for _, c := range []struct {
		block tool.Block
		wire  string
	}{
		{tool.Block{Type: tool.TextBlock, Text: "hi"}, `{"type":"text","text":"hi"}`},
		{tool.Block{Type: tool.TextBlock}, `{"type":"text","text":""}`},
		{tool.Block{Type: tool.ImageBlock, MediaType: "image/png", Data: []byte{1, 2}}, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQI="}}`},
		{tool.Block{Type: tool.DocumentBlock, MediaType: "application/pdf", Data: []byte{3}}, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"Aw=="}}`},
		{tool.Block{Type: tool.ReferenceBlock, Text: "Sleep"}, `{"type":"tool_reference","tool_name":"Sleep"}`},
	} {
		got, err := json.Marshal(c.block)
		if err != nil || string(got) != c.wire {
			t.Errorf("%+v is written as %s, %v, want %s", c.block, got, err, c.wire)
		}
		var back tool.Block
		if err := json.Unmarshal(got, &back); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(c.block, back); d != "" {
			t.Errorf("read back (-want +got):\n%s", d)
		}
	}
	for _, bad := range []string{`{"type":"text"}`, `{"type":"image"}`, `{"type":"hologram"}`, `[]`} {
		var b tool.Block
		if json.Unmarshal([]byte(bad), &b) == nil {
			t.Errorf("%s was read as %+v", bad, b)
		}
	}
	if _, err := json.Marshal(tool.Block{}); err == nil {
		t.Error("a block without a type was written")
	}
}
