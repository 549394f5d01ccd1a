package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
)

// In the mode auto, a command that changes files is for the classifier, also where nobody else can
// be asked: in a session that is saved, on a machine that can preview it. What it does not allow is
// not done, and the model is told so. A system without previews asks as if there were no change to see.
func TestTheClassifierDecidesAboutCommands(t *testing.T) {
	needtest.Need(t, needtest.Overlay)
	for _, command := range []string{"touch zz", "./gen.sh"} {
		for answer, done := range map[string]bool{"SAFE": true, "UNSAFE": false} {
			t.Run(command+" "+answer, func(t *testing.T) {
				r := newRig(t)
				t.Setenv("XDG_STATE_HOME", filepath.Join(os.Getenv("HOME"), ".state"))
				r.script("echo made >zz\n")
				var asked atomic.Int32
				r.serve(func(q *script.Request) script.Turn {
					switch {
					case strings.Contains(string(q.Body), "You guard the user's computer"):
						asked.Add(1)
						return says(answer)
					case q.Turn == 0:
						return uses("Bash", in("command", command))
					}
					return says("done")
				})
				c := r.talk(harness.Options{Mode: "auto"}, harness.TalkOptions{})
				defer c.Close(t.Context())
				events, _ := r.say(c, "go")
				out := bashOutcome(t, events)
				_, err := os.Stat(filepath.Join(r.dir, "zz"))
				if (err == nil) != done || asked.Load() != 1 || (out.Status == sched.Succeeded) != done || c.Journal().Dir() == "" {
					t.Errorf("the classifier was asked %d times; the file: %v; %s: %s", asked.Load(), err, out.Status, out.Result.Text())
				}
			})
		}
	}
}
