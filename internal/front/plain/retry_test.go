package plain

import (
	"bytes"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
)

// TestAReasonIsSaidOnce: a server that is down for a while does not fill the screen.
func TestAReasonIsSaidOnce(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, nil)
	for i, why := range []string{"overloaded", "overloaded", "no route", "overloaded"} {
		if err := p.Show(agent.Retrying{Retry: model.Retry{Attempt: i + 1, Max: 9, Delay: time.Second, Err: &model.Error{Message: why}}}); err != nil {
			t.Fatal(err)
		}
	}
	const want = "! the request to the model failed: overloaded. Retrying in 1s (1 of 9)\n! retrying in 1s (2 of 9)\n" +
		"! the request to the model failed: no route. Retrying in 1s (3 of 9)\n! the request to the model failed: overloaded. Retrying in 1s (4 of 9)\n"
	if out.String() != want {
		t.Errorf("it says\n%s", out.String())
	}
}

// TestWhoIsAskedIsNotTold: where the question itself is on the screen, nothing announces it.
func TestWhoIsAskedIsNotTold(t *testing.T) {
	for _, asks := range []bool{true, false} {
		var out bytes.Buffer
		if err := New(&out, &Options{Asks: asks}).Show(agent.Waiting{UseID: "1", Tool: "Edit"}); err != nil {
			t.Fatal(err)
		}
		if told := out.Len() > 0; told == asks {
			t.Errorf("asks %v: it says %q", asks, out.String())
		}
	}
}
