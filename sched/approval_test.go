package sched_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// appender is a tool that adds a text to a file: what it makes of the file depends on
// what is there. It leaves it to the pipeline to see that the change is the approved one.
func appender(path string, change ...func(*tool.Def[note, string])) tool.Tool {
	draft := func(in note) (*tool.Preview, error) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		after := append(raw[:len(raw):len(raw)], in.Text...)
		return &tool.Preview{Files: []tool.FileChange{{Path: path, Before: tool.NewVersion(0o600, raw, raw), After: tool.NewVersion(0o600, after, after)}}}, nil
	}
	return echo(func(d *tool.Def[note, string]) {
		d.Paths = func(*tool.Call, note) tool.Paths { return tool.Paths{Writes: []string{path}} }
		d.Preview = func(_ context.Context, _ *tool.Call, in note) (*tool.Preview, error) { return draft(in) }
		d.Run = func(_ context.Context, _ *tool.Call, in note) (string, error) {
			p, err := draft(in)
			if err != nil {
				return "", tool.Errorf("%w", err)
			}
			return "done", os.WriteFile(path, p.Files[0].After.Raw, 0o600)
		}
		for _, c := range change {
			if c != nil {
				c(d)
			}
		}
	})
}

// A disturbed approval is one during which another program changes the file.
type disturbed struct {
	t      *testing.T
	path   string
	others []string       // what the file becomes while the first, second … question is open
	says   []tool.Verdict // to the first, second … question; the last one to all others

	shown     []string // what the file would become
	questions []string
}

func (d *disturbed) Ask(_ context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
	n := len(d.questions)
	d.questions = append(d.questions, q.Reason)
	if c.Preview == nil {
		d.shown = append(d.shown, "")
	} else {
		d.shown = append(d.shown, string(c.Preview.Files[0].After.Raw))
	}
	if n < len(d.others) {
		write(d.t, d.path, d.others[n])
	}
	return d.says[min(n, len(d.says)-1)], nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestAChangeThatIsAnotherOneByNowIsAskedAboutAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	allow, deny := tool.Verdict{Behavior: tool.Allow}, tool.Verdict{Behavior: tool.Deny, Message: "no"}
	for _, c := range []struct {
		name   string
		others []string
		says   []tool.Verdict
		status sched.Status
		want   string
		shown  []string
	}{
		{"nobody disturbs", nil, []tool.Verdict{allow}, sched.Succeeded, "a+", []string{"a+"}},
		{"the same content is written again", []string{"a"}, []tool.Verdict{allow}, sched.Succeeded, "a+", []string{"a+"}},
		{"changed once, and approved again", []string{"b"}, []tool.Verdict{allow}, sched.Succeeded, "b+", []string{"a+", "b+"}},
		{"changed once, and then denied", []string{"b"}, []tool.Verdict{allow, deny}, sched.Denied, "b", []string{"a+", "b+"}},
		{"changed each time", []string{"b", "c", "d", "e", "f", "g"}, []tool.Verdict{allow}, sched.Denied, "e", []string{"a+", "b+", "c+", "d+"}},
		{"allowed by a rule from then on", []string{"b"}, []tool.Verdict{{Behavior: tool.Allow, Rule: "Echo"}}, sched.Succeeded, "b+", []string{"a+"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, path, "a")
			d := &disturbed{t: t, path: path, others: c.others, says: c.says}
			judge := sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict {
				if len(d.questions) > 0 && c.says[0].Rule != "" {
					return allow
				}
				return tool.Verdict{Behavior: tool.Ask, Reason: "no rule allows it"}
			})
			out := call(t, &sched.Options{Judge: judge, Askers: []sched.Asker{d}}, appender(path), `{"text":"+"}`)
			if out.Status != c.status || content(t, path) != c.want {
				t.Errorf("%s, the file has %q, want %s and %q: %s", out.Status, content(t, path), c.status, c.want, out.Result.Text())
			}
			if strings.Join(d.shown, " ") != strings.Join(c.shown, " ") {
				t.Errorf("shown %q, want %q", d.shown, c.shown)
			}
			for _, q := range d.questions[1:] {
				if !strings.Contains(q, "changed after the call was approved") {
					t.Errorf("asked again because %q", q)
				}
			}
		})
	}
}

// goneAsker answers one question and no other, as a program that drives a session and
// hangs up does.
type goneAsker struct{ *disturbed }

func (g goneAsker) Ask(ctx context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
	if len(g.questions) > 0 {
		return tool.Verdict{}, errors.New("gone")
	}
	return g.disturbed.Ask(ctx, c, q)
}

func TestAChangedApprovalThatNobodyRenewsIsRefusedWithAWayOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	d := goneAsker{&disturbed{t: t, path: path, others: []string{"b"}, says: []tool.Verdict{{Behavior: tool.Allow}}}}
	tl := appender(path)
	out := call(t, &sched.Options{Askers: []sched.Asker{d}}, tl, `{"text":"+"}`)
	if out.Status != sched.Denied || content(t, path) != "b" || out.Result.Text() != tool.ErrUnapproved.Error() {
		t.Fatalf("%s, the file has %q: %s", out.Status, content(t, path), out.Result.Text())
	}
	// It says to send the call again.
	again := &disturbed{t: t, path: path, says: []tool.Verdict{{Behavior: tool.Allow}}}
	if out := call(t, &sched.Options{Askers: []sched.Asker{again}}, tl, `{"text":"+"}`); out.Status != sched.Succeeded || content(t, path) != "b+" {
		t.Errorf("sent again: %s, the file has %q", out.Status, content(t, path))
	}
}

// What could not be shown was not approved: once it can be, it is asked about.
func TestAChangeThatCouldNotBeShownIsAskedAboutOnceItCan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	d := &disturbed{t: t, path: path, others: []string{"a"}, says: []tool.Verdict{{Behavior: tool.Allow}}}
	out := call(t, &sched.Options{Askers: []sched.Asker{d}}, appender(path), `{"text":"+"}`)
	if out.Status != sched.Succeeded || strings.Join(d.shown, ",") != ",a+" {
		t.Errorf("%s, shown %q: %s", out.Status, d.shown, out.Result.Text())
	}
}

// A user who approves a call with another input approves what that input does.
func TestAnApprovalWithAnotherInputIsForItsChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	d := &disturbed{t: t, path: path, says: []tool.Verdict{{Behavior: tool.Allow, Input: json.RawMessage(`{"text":"-"}`)}}}
	var judged []string
	judge := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		judged = append(judged, fmt.Sprintf("%s, with a change: %t", c.Call.Input, c.Preview != nil))
		return tool.Verdict{}
	})
	out := call(t, &sched.Options{Judge: judge, Askers: []sched.Asker{d}}, appender(path), `{"text":"+"}`)
	if out.Status != sched.Succeeded || content(t, path) != "a-" || out.Verdict.Approved == "" {
		t.Errorf("%s, the file has %q, approved %q", out.Status, content(t, path), out.Verdict.Approved)
	}
	if last := judged[len(judged)-1]; last != `{"text":"-"}, with a change: false` { // that of the other input
		t.Errorf("judged %q", judged)
	}
}

// An asker cannot name another change than the one it was shown.
func TestTheApprovedChangeIsTheOneThatWasShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	d := &disturbed{t: t, path: path, says: []tool.Verdict{{Behavior: tool.Allow, Approved: "anything"}}}
	tl := appender(path)
	want, err := tl.PreviewOf(t.Context(), (&tool.Call{}).WithInput(json.RawMessage(`{"text":"+"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if out := call(t, &sched.Options{Askers: []sched.Asker{d}}, tl, `{"text":"+"}`); out.Verdict.Approved != want.Digest() {
		t.Errorf("approved %q, want %q", out.Verdict.Approved, want.Digest())
	}
}

// What is no longer possible, or no longer wanted, is not asked about again.
func TestACallThatChangedAndCannotRunAnyMoreIsNotAskedAboutAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	now := func() string { return content(t, path) }
	allow := []tool.Verdict{{Behavior: tool.Allow}}
	for _, c := range []struct {
		name   string
		change func(*tool.Def[note, string])
		judge  func() tool.Verdict
		status sched.Status
		says   string
	}{
		{"the tool refuses", func(d *tool.Def[note, string]) {
			d.Validate = func(context.Context, *tool.Call, note) *tool.Problem {
				if now() == "b" {
					return &tool.Problem{Code: 7, Message: "not any more"}
				}
				return nil
			}
		}, nil, sched.Invalid, "not any more"},
		{"the rules make an input of it that no tool can use", nil, func() tool.Verdict {
			if now() == "b" {
				return tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(`{"count":-1}`)}
			}
			return tool.Verdict{Behavior: tool.Ask}
		}, sched.Invalid, "count"},
		{"the rules deny it", nil, func() tool.Verdict {
			if now() == "b" {
				return tool.Verdict{Behavior: tool.Deny, Message: "frozen"}
			}
			return tool.Verdict{Behavior: tool.Ask}
		}, sched.Denied, "frozen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, path, "a")
			d := &disturbed{t: t, path: path, others: []string{"b"}, says: allow}
			opts := &sched.Options{Askers: []sched.Asker{d}}
			if c.judge != nil {
				opts.Judge = sched.JudgeFunc(func(context.Context, tool.Case) tool.Verdict { return c.judge() })
			}
			out := call(t, opts, appender(path, c.change), `{"text":"+"}`)
			if out.Status != c.status || !strings.Contains(out.Result.Text(), c.says) || now() != "b" || len(d.questions) != 1 {
				t.Errorf("%s after %d questions, the file has %q: %s", out.Status, len(d.questions), now(), out.Result.Text())
			}
		})
	}
}

// A user who interrupts instead of answering the second question has not approved.
func TestACallThatIsCancelledWhileItIsAskedAboutAgainDoesNotRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	ctx, cancel := context.WithCancel(t.Context())
	d := &disturbed{t: t, path: path, others: []string{"b"}, says: []tool.Verdict{{Behavior: tool.Allow}}}
	asker := sched.AskerFunc(func(ctx context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
		if len(d.questions) == 1 {
			cancel()
		}
		return d.Ask(ctx, c, q)
	})
	tl := appender(path)
	out := sched.New(&sched.Options{Askers: []sched.Asker{asker}}).Call(ctx, set(tl), "toolu_1", tl.Name, []byte(`{"text":"+"}`))
	if out.Status != sched.Cancelled || content(t, path) != "b" {
		t.Errorf("%s, the file has %q: %s", out.Status, content(t, path), out.Result.Text())
	}
}

// An answer counts for what it decides and nothing else: what an asker repeats is no
// change, a denial approves nothing, and rules that reject a changed input are heard.
func TestAnAnswerIsTakenForWhatItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	ask := func(v tool.Verdict, judge sched.Judge) *sched.Outcome {
		write(t, path, "a")
		return call(t, &sched.Options{Judge: judge, Askers: []sched.Asker{answer(v)}}, appender(path), `{"text":"+"}`)
	}
	if out := ask(tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(`{ "text": "+" }`)}, nil); out.Verdict.Input != nil || content(t, path) != "a+" {
		t.Errorf("the same input, sent back: %s, verdict with the input %s", out.Status, out.Verdict.Input)
	}
	if out := ask(tool.Verdict{Behavior: tool.Deny, Approved: "anything"}, nil); out.Verdict.Approved != "" {
		t.Errorf("a denial approved %q", out.Verdict.Approved)
	}
	rewrites := sched.JudgeFunc(func(_ context.Context, c tool.Case) tool.Verdict {
		if string(c.Call.Input) == `{"text":"-"}` {
			return tool.Verdict{Behavior: tool.Ask, Input: json.RawMessage(`{"count":-1}`)}
		}
		return tool.Verdict{Behavior: tool.Ask}
	})
	if out := ask(tool.Verdict{Behavior: tool.Allow, Input: json.RawMessage(`{"text":"-"}`)}, rewrites); out.Status != sched.Invalid || content(t, path) != "a" {
		t.Errorf("%s, the file has %q: %s", out.Status, content(t, path), out.Result.Text())
	}
}

// Before an approved call runs, the approved change is compared with what it would do by then,
// which may take long: a recorder learns that with the verdict.
func TestTheVerdictOnAnApprovedCallSaysThatItWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a")
	for behavior, want := range map[tool.Behavior]bool{tool.Allow: false, tool.Ask: true} {
		waits := map[sched.Step]bool{}
		opts := &sched.Options{
			Judge:    verdict(behavior),
			Askers:   []sched.Asker{&disturbed{t: t, path: path, says: []tool.Verdict{{Behavior: tool.Allow}}}},
			Recorder: recorder(func(r sched.Record) error { waits[r.Step] = r.Waits; return nil }),
		}
		if out := call(t, opts, appender(path), `{"text":"+"}`); out.Status != sched.Succeeded {
			t.Fatalf("%s: %s", out.Status, out.Result.Text())
		}
		if waits[sched.Judged] != want || waits[sched.Dispatched] || waits[sched.Finished] {
			t.Errorf("the rules say %v: a record says that the call waits: %v", behavior, waits)
		}
	}
}
