package mcp

import (
	"encoding/json"
	"testing"
)

// An output is put together of its parts, and is what the encoder would write.
func TestAnOutputIsEncodedAsTheEncoderWould(t *testing.T) {
	for _, o := range []Output{
		{},
		{Content: []json.RawMessage{json.RawMessage(`{"type":"text","text":"a"}`), nil, json.RawMessage("{\n \"a\": 1\n}")}},
		{Content: []json.RawMessage{json.RawMessage(`1`)}, Structured: json.RawMessage(`{"a":[1,2]}`)},
		{Meta: json.RawMessage(`{"x":"y"}`)},
		{Structured: json.RawMessage(`null`), Meta: json.RawMessage(`{}`)},
	} {
		type plain Output
		var want []byte
		var err error
		if o.Structured == nil && o.Meta == nil {
			want, err = json.Marshal(append([]json.RawMessage{}, o.Content...))
		} else {
			p := plain(o)
			p.Content = append([]json.RawMessage{}, o.Content...)
			want, err = json.Marshal(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.EncodedJSON(); err != nil || string(got) != string(want) {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}
