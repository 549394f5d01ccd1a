package harness_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness"
)

// TestThePastIsThereAfterGoingBack, leaving, and continuing.
func TestThePastIsThereAfterGoingBack(t *testing.T) {
	r := newRig(t).with(says("A1"), says("A2")) // the second answer twice
	talk := r.talk(harness.Options{}, harness.TalkOptions{})
	id := talk.Agent.Session()
	past := func() (texts []string) {
		for _, e := range talk.Past(t.Context(), 100) {
			for _, b := range e.Message.Content {
				texts = append(texts, b.Text)
			}
		}
		return texts
	}
	r.say(talk, "P1")
	first := talk.Past(t.Context(), 100)
	r.say(talk, "P2")
	r.close(talk)
	talk = r.talk(harness.Options{}, harness.TalkOptions{Resume: id, ResumeAt: first[len(first)-1].UUID})
	if err := talk.Journal().KeepPlace(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.close(talk)
	talk = r.talk(harness.Options{}, harness.TalkOptions{Resume: id})
	if d := cmp.Diff([]string{"P1", "A1"}, past()); d != "" {
		t.Errorf("after going back (-want +got):\n%s", d)
	}
	r.say(talk, "P3")
	want := []string{"P1", "A1", "P3", "A2"}
	if d := cmp.Diff(want, past()); d != "" {
		t.Errorf("and one prompt (-want +got):\n%s", d)
	}
	r.close(talk)
	talk = r.talk(harness.Options{}, harness.TalkOptions{Resume: id})
	defer talk.Close(t.Context())
	if d := cmp.Diff(want, past()); d != "" {
		t.Errorf("resumed (-want +got):\n%s", d)
	}
}
