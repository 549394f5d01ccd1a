package drive_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

// begin returns a driver of a conversation whose model takes two seconds for its answer.
func begin(t *testing.T, o *drive.Options) *drive.Driver {
	t.Helper()
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{{TTFT: 2_000, Blocks: []script.Block{{Text: "next"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	w, err := harness.Open(&harness.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	d := drive.New(o)
	c, err := w.Talk(t.Context(), &harness.TalkOptions{Driver: d, Model: "claude-opus-5-5", Client: anthropic.New(&anthropic.Options{BaseURL: srv.URL(), Key: "k"})})
	if err != nil {
		t.Fatal(err)
	}
	d.Begin(c)
	t.Cleanup(func() {
		if _, err := d.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return d
}

func say(d *drive.Driver, uuid, text string) {
	p := agent.Typed(text)
	p.UUID = uuid
	d.Say(drive.Message{Prompt: p})
}

func queued(list []agent.Prompt) (texts []string) {
	for _, p := range list {
		texts = append(texts, p.Content[0].Text)
	}
	return texts
}

// TestTheQueueIsEdited stops a turn behind which a prompt, a command and another prompt wait:
// each can be taken back, and what is left is done in order.
func TestTheQueueIsEdited(t *testing.T) {
	for name, o := range map[string]drive.Options{"between turns": {}, "beside turns": {Beside: true}} {
		t.Run(name, func(t *testing.T) {
			d := begin(t, &o)
			say(d, "1", "first")
			var seen []string
			edited := false
			for ev, err := range d.Run(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				switch ev := ev.(type) {
				case agent.Requesting:
					if edited {
						continue
					}
					edited = true
					say(d, "2", "second")
					if !o.Beside { // otherwise it is carried out at once
						say(d, "3", "/statsu")
					}
					say(d, "4", "third")
					say(d, "5", "fourth")
					want := []string{"second", "/statsu", "third", "fourth"}
					if o.Beside {
						want = []string{"second", "third", "fourth"}
					}
					if diff := cmp.Diff(want, queued(d.Queued())); diff != "" {
						t.Errorf("queued (-want +got):\n%s", diff)
					}
					if !d.Withdraw("2") || d.Withdraw("2") || d.Withdraw("1") {
						t.Error("what waits was not taken back, or what does not")
					}
					if diff := cmp.Diff([]string{"fourth"}, queued(d.TakeBack(1))); diff != "" {
						t.Errorf("taken back (-want +got):\n%s", diff)
					}
					if !d.Interrupt() {
						t.Error("nothing was interrupted")
					}
					d.Finish()
				case drive.CommandDone:
					seen = append(seen, ev.Err.Error())
				case agent.Result:
					seen = append(seen, string(ev.Reason)+" "+ev.Text)
				}
			}
			want := []string{"aborted_streaming ", "There is no command /statsu. Did you mean /status?", "completed next"}
			if o.Beside {
				want = []string{"aborted_streaming ", "completed next"}
			}
			if diff := cmp.Diff(want, seen); diff != "" {
				t.Errorf("it does (-want +got):\n%s", diff)
			}
			if left := d.TakeBack(math.MaxInt); left != nil || d.Busy() {
				t.Errorf("left: %q", queued(left))
			}
		})
	}
}

// TestStopTakesEverythingBack stops as Ctrl-C does.
func TestStopTakesEverythingBack(t *testing.T) {
	d := begin(t, nil)
	say(d, "1", "first")
	var seen []string
	for ev, err := range d.Run(t.Context()) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.Requesting:
			say(d, "2", "/cost")
			say(d, "3", "second")
			d.Stop()
		case drive.CommandDone:
			seen = append(seen, ev.Text)
		case agent.Result:
			seen = append(seen, string(ev.Reason))
		}
	}
	if diff := cmp.Diff([]string{"aborted_streaming"}, seen); diff != "" || !d.Ending() {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhoReadsOfTheEndFindsNothingBusy carries out commands beside turns: a front end that is told that the last of
// them is done hears nothing more, so the driver must not be busy with it then.
func TestWhoReadsOfTheEndFindsNothingBusy(t *testing.T) {
	d := begin(t, &drive.Options{Beside: true})
	const times = 500
	say(d, "", "/statsu")
	done := 0
	for ev, err := range d.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(drive.CommandDone); !ok {
			continue
		}
		if d.Busy() {
			t.Fatalf("after command %d the driver is busy", done)
		}
		if done++; done == times {
			break
		}
		say(d, "", "/statsu")
	}
	if done < times {
		t.Errorf("%d commands are done, want %d", done, times)
	}
}
