package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/wire"
)

// TestOnlyAnAnswerDecides answers the question of a session that runs elsewhere. What is no
// answer asks again.
func TestOnlyAnAnswerDecides(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed []string
		want  wire.PermissionAnswer
		again int
	}{
		{"yes", []string{"y"}, wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, 0},
		{"no, and why", []string{"n use ninja"}, wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: "The user denied this call. They say: use ninja"}, 0},
		{"a word that is no answer", []string{"maybe", "now fix the docs", "yes"}, wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, 2},
		{"a word that begins like one", []string{"never", "no"}, wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: "The user denied this call. Do not try to do it another way; ask what they would like instead."}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				f := &attachFlags{person: plain.NewPerson(&out), greeted: make(chan struct{})}
				close(f.greeted)
				answer := make(chan any, 1)
				go func() {
					a, err := f.asked(t.Context(), &wire.CanUseTool{ToolName: "Bash", Input: json.RawMessage(`{"command":"make it","timeout":5}`), DecisionReason: "no rule allows it"})
					if err != nil {
						t.Error(err)
					}
					answer <- a
				}()
				synctest.Wait()
				time.Sleep(time.Second)
				for _, line := range c.typed {
					if !f.person.Hear(line) {
						t.Errorf("%q was sent to the model", line)
					}
					synctest.Wait()
				}
				if d := cmp.Diff(any(c.want), <-answer); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				const asked = "? Bash wants to run with this input:\n    command: make it\n    timeout: 5\n  Asked because no rule allows it.\ny: allow once · n [reason]: deny > "
				if got := out.String(); got != asked+strings.Repeat("Please answer y or n: ", c.again) {
					t.Errorf("the user saw\n%s", got)
				}
			})
		})
	}
}
