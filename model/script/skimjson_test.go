package script

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"b":[{"c":"]}\\"}],"d":"\\\""}`, `{"a"`, ` { "x" : null , "y":-1e9 } `, `{"\u0061":"é"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got := map[string]any{}
		members(body, func(key, value []byte) {
			var k string
			var v any
			if json.Unmarshal([]byte(`"`+string(key)+`"`), &k) == nil && json.Unmarshal(value, &v) == nil {
				got[k] = v
			}
		})
		var want map[string]any
		if json.Unmarshal(body, &want) != nil || want == nil {
			return // that it ended is enough
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("members of %s (-want +got):\n%s", body, diff)
		}
	})
}

func BenchmarkLongConversation(b *testing.B) {
	body := []byte(question(10_000, ""))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		n := 0
		elements(member(body, "messages"), func(m []byte) {
			if string(member(m, "role")) == `"assistant"` {
				n++
			}
		})
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}
