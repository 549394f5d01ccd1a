package harness_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// rivals are a front end and an observer that answer each question at the same moment, each
// in its own way.
type rivals struct {
	talk   *harness.Conversation
	begun  sync.Map // from questions to channels that are closed when the front end is asked
	losers sync.WaitGroup
}

// file is the name of the file that a question is about, which names the rules.
func file(c tool.Case) string {
	return strings.TrimSuffix(filepath.Base(c.Tool.PathsOf(c.Call).Writes[0]), ".txt")
}

func granting(b tool.Behavior, scope, rule string) tool.Verdict {
	return tool.Verdict{Behavior: b, Reason: "they said so", Grants: []tool.Grant{{Change: tool.AddRules, Rules: []string{rule}, Behavior: tool.Allow, Scope: scope}}}
}

// Ask implements [sched.Asker].
func (r *rivals) Ask(_ context.Context, c tool.Case, _ tool.Verdict) (tool.Verdict, error) {
	begun, _ := r.begun.Load(c.Question)
	close(begun.(chan struct{}))
	time.Sleep(rand.N(100 * time.Microsecond)) // or the other place would seldom be first
	return granting(tool.Allow, "local", "Bash(here-"+file(c)+":*)"), nil
}

// An observing channel answers questions for observers.
type observing struct{ *rivals }

func (o observing) Ask(_ context.Context, q *sched.Question) {
	begun := make(chan struct{})
	o.begun.Store(q.Case.Question, begun)
	o.losers.Go(func() {
		<-begun
		v := granting(tool.Allow, "session", "Bash(there-"+file(q.Case)+":*)")
		if strings.HasSuffix(file(q.Case), "0") {
			v.Behavior = tool.Deny
		}
		o.talk.Answer(q.Case.Question, v, "another place")
	})
}
func (o observing) Elicit(context.Context, mcp.Elicitation) {}
func (o observing) Event(agent.Event)                       {}
func (o observing) Close() error                            { return nil }

// TestOneAnswerCounts lets two places answer 1,000 questions, or 100 without the race detector,
// with different verdicts and grants: the journal has one answer to each, and only what that one grants is in force and
// in the settings.
func TestOneAnswerCounts(t *testing.T) {
	const questions = 100
	conversations := 1
	if raced {
		conversations = 10
	}
	won := map[string]int{}
	for range conversations {
		turn := script.Turn{}
		for n := range questions {
			turn.Blocks = append(turn.Blocks, call("Write", fmt.Sprintf(`{"file_path":"%d.txt","content":"x"}`, n)))
		}
		r := newRig(t, turn, script.Turn{Blocks: []script.Block{{Text: "Done."}}})
		both := new(rivals)
		c := r.talk(harness.Options{}, harness.TalkOptions{Person: both, Interactive: true, Watch: func(c *harness.Conversation) harness.Channel {
			both.talk = c
			return observing{both}
		}})
		r.say(c, "write")
		both.losers.Wait()
		var want, kept []string
		all := answersByFile(t, c)
		if len(all) != questions {
			t.Fatalf("%d of %d questions were answered", len(all), questions)
		}
		for name, answers := range all {
			if len(answers) != 1 {
				t.Fatalf("%s has the answers %+v", name, answers)
			}
			a := answers[0]
			won[a.By+": "+a.Behavior.String()]++
			switch {
			case a.By == "the terminal":
				want, kept = append(want, "Bash(here-"+name+":*)"), append(kept, "Bash(here-"+name+":*)")
			case a.Behavior == tool.Allow:
				want = append(want, "Bash(there-"+name+":*)")
			}
		}
		var got []string
		for _, rule := range c.Rules() {
			got = append(got, rule.Text)
		}
		if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
			t.Errorf("in force (-want +got):\n%s", d)
		}
		stored, err := os.ReadFile(filepath.Join(r.dir, ".claude", "settings.local.json"))
		if err != nil && len(kept) > 0 {
			t.Fatal(err)
		}
		for n := range questions {
			rule := fmt.Sprintf("Bash(here-%d:*)", n)
			if strings.Contains(string(stored), rule) != slices.Contains(kept, rule) {
				t.Errorf("%s is stored: %t", rule, !slices.Contains(kept, rule))
			}
		}
		if strings.Contains(string(stored), "there") {
			t.Errorf("a rule for the session is stored:\n%s", stored)
		}
		r.close(c)
	}
	if won["the terminal: allow"] == 0 || won["another place: allow"] == 0 || won["another place: deny"] == 0 {
		t.Errorf("nothing was decided by who comes first: %v", won)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// answersByFile are the answers in the journal to the questions about each file.
func answersByFile(t *testing.T, c *harness.Conversation) map[string][]session.Answer {
	t.Helper()
	f, err := session.Follow(c.Journal().Path(), "")
	if err != nil {
		t.Fatal(err)
	}
	names, asked := map[string]string{}, map[string]string{} // of files by call, of calls by question
	var answers []session.Answer
	for {
		list, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range list {
			switch e := at.Entry; {
			case e.Message != nil:
				for _, b := range e.Message.Content {
					if _, name, ok := strings.Cut(string(b.Input), `"file_path":"`); ok {
						names[b.ID], _, _ = strings.Cut(filepath.Base(name), ".txt")
					}
				}
			case e.Ask != nil:
				asked[e.Ask.ID] = e.Ask.UseID
			case e.Answer != nil:
				answers = append(answers, *e.Answer)
			}
		}
		if len(list) == 0 {
			break
		}
	}
	byFile := map[string][]session.Answer{}
	for _, a := range answers {
		name := names[asked[a.ID]]
		byFile[name] = append(byFile[name], a)
	}
	return byFile
}
