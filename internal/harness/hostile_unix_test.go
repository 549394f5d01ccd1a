//go:build unix

package harness_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/model/script"
)

func TestPipesInARepositoryHoldNobody(t *testing.T) {
	for _, name := range []string{".git/HEAD", ".git/config", ".git"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t,
				script.Turn{Blocks: []script.Block{call("Bash", `{"command":"ls"}`)}},
				script.Turn{Blocks: []script.Block{{Text: "done"}}},
			)
			path := filepath.Join(r.dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			done := make(chan agent.Result, 1)
			c := r.talk(harness.Options{Mode: "dontAsk"}, harness.TalkOptions{})
			defer c.Close(t.Context())
			go func() {
				_, last := r.say(c, "look")
				done <- last
			}()
			select {
			case last := <-done:
				if last.Text != "done" {
					t.Errorf("%+v", last)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it hangs")
			}
		})
	}
}
