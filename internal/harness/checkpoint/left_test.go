package checkpoint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/session"
)

// What the conversation went back from is not what the user said last.
func TestTheLastMessageIsOneThatIsStillSaid(t *testing.T) {
	message := func(uuid, parent, role, text string) string {
		return `{"type":"` + role + `","uuid":"` + uuid + `","parentUuid":` + parent + `,"sessionId":"s","timestamp":"2026-01-02T03:04:05Z","message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}]}}`
	}
	lines := []string{
		message("u1", "null", "user", "one"), message("a1", `"u1"`, "assistant", "done"),
		message("u2", `"a1"`, "user", "two"), message("a2", `"u2"`, "assistant", "done"),
		`{"type":"haft","uuid":"b1","parentUuid":"a1","sessionId":"s","timestamp":"2026-01-02T03:04:05Z","haft":{"back":{}}}`,
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := session.Left(t.Context(), path)
	if err != nil || !left["u2"] || !left["a2"] || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
	plan, err := checkpoint.NewPlan(t.Context(), path, "", nil)
	if err != nil || plan.Target != "u1" {
		t.Errorf("%+v, %v", plan, err)
	}
}
