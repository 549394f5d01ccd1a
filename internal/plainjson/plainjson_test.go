package plainjson_test

import (
	"testing"

	"github.com/haftdev/haft/internal/plainjson"
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
