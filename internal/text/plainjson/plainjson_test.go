package plainjson_test

import (
	"testing"

	"github.com/haftdev/haft/internal/text/plainjson"
)

func TestOnlyWhatJSONNeedsIsEscaped(t *testing.T) {
	for want, v := range map[string]any{
		`"a < b && c > d"`:     "a < b && c > d",
		`"line\nend\n"`:        "line\nend\n",
		`{"command":"a 2>&1"}`: map[string]string{"command": "a 2>&1"},
		`null`:                 nil,
	} {
		got, err := plainjson.Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("%s, error %v; want %s", got, err, want)
		}
	}
	if _, err := plainjson.Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestTheSameValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a": [1, 2], "b": "\u0041"}`, `{"b":"A","a":[1,2]}`, true},
		{`null`, ` null `, true},
		{`{"a":1}`, `{"a":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":null}`, `{}`, false},
		{`"1"`, `1`, false},
		{`{"id":9007199254740993}`, `{"id":9007199254740992}`, false}, // the same float
		{`{"a":1}`, `{"a":1} {"a":2}`, false},
		{`{"a":1}`, `{"a":1}}`, false},
		{`{`, `{`, true},
		{`{`, `[`, false},
		{``, `null`, false},
	} {
		if plainjson.Same([]byte(c.a), []byte(c.b)) != c.want || plainjson.Same([]byte(c.b), []byte(c.a)) != c.want {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.want)
		}
	}
}
