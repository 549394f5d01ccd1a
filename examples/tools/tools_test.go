package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/tooltest"
	"github.com/haftdev/haft/wire"
)

func TestTheToolsKeepTheContract(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		dir := orders(t)
		clean := func(t *testing.T) {
			if err := os.RemoveAll(filepath.Join(dir, "tickets")); err != nil {
				t.Fatal(err)
			}
		}
		for _, own := range w.tools(t, dir) {
			s := tooltest.Subject{Tool: own, Dir: dir, Reset: clean}
			switch strings.TrimPrefix(own.Name, w.prefix) {
			case "QueryOrders":
				s.Valid = []string{`{"column":"city","equals":"Ulm"}`}
			case "OpenTicket":
				s.Valid = []string{`{"name":"late","text":"An order is late."}`}
			case "BuildReport":
				s.Valid, s.Slow = []string{`{"steps":1}`}, `{"steps":6000}`
			}
			t.Run(own.Name, func(t *testing.T) { tooltest.Run(t, s) })
		}
	})
}

// TestOpenTicket is how a program tests one tool of its own.
func TestOpenTicket(t *testing.T) {
	dir := t.TempDir()
	tooltest.Run(t, tooltest.Subject{
		Tool:  openTicket(),
		Dir:   dir,
		Valid: []string{`{"name":"late","text":"An order is late."}`},
		Reset: func(*testing.T) { os.RemoveAll(filepath.Join(dir, "tickets")) },
	})
}

func TestAToolThatOnlyReadsRunsUnasked(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		dir, _ := shop(t, w.calls("QueryOrders", `{"column":"town","equals":"Ulm"}`), w.calls("QueryOrders", `{"column":"city","equals":"Ulm"}`), says("Two."))
		answers, _ := w.play(t, &haft.Options{Dir: dir})
		if !strings.Contains(answers, `There is no column "town"`) || !strings.Contains(answers, `["3","Ulm","30"]`) {
			t.Errorf("answers: %s", answers)
		}
	})
}

const late = `{"name":"late","text":"An order is late."}`

func TestAQuestionShowsTheChange(t *testing.T) {
	for _, allow := range []bool{true, false} {
		eachWay(t, func(t *testing.T, w way) {
			dir, _ := shop(t, w.calls("OpenTicket", late), says("Done."))
			asked := 0
			answers, _ := w.play(t, &haft.Options{Dir: dir, CanUseTool: func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
				if asked++; r.Change == nil || len(r.Change.Files) != 1 || r.Change.Files[0].Path != filepath.Join(dir, "tickets", "late.md") {
					t.Errorf("the question shows %+v", r.Change)
				}
				if allow {
					return haft.Allow(), nil
				}
				return haft.Deny("not now"), nil
			}})
			if _, err := os.Stat(filepath.Join(dir, "tickets", "late.md")); (err == nil) != allow || asked != 1 {
				t.Errorf("asked %d times, answers %q, file: %v", asked, answers, err)
			}
		})
	}
}

// A change that is no longer the one that was approved is not made.
func TestWhatWasApprovedIsWhatHappens(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		dir, _ := shop(t, w.calls("OpenTicket", late), says("Done."))
		path := filepath.Join(dir, "tickets", "late.md")
		answers, _ := w.play(t, &haft.Options{Dir: dir, CanUseTool: func(context.Context, *haft.ToolRequest) (*haft.Permission, error) {
			return haft.Allow(), errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("theirs"), 0o600))
		}})
		if raw, err := os.ReadFile(path); err != nil || string(raw) != "theirs" {
			t.Errorf("answers %q, the file is now %q, %v", answers, raw, err)
		}
	})
}

// The verdict about a call is that about haft's own tool which does the same.
func TestTheVerdictIsThatOfABuiltIn(t *testing.T) {
	same := []struct{ own, input, builtin, like string }{
		{"QueryOrders", `{"column":"city","equals":"Ulm"}`, "Read", `{"file_path":"orders.csv"}`},
		{"OpenTicket", late, "Write", `{"file_path":"tickets/late.md","content":"x"}`},
	}
	rules := [][2][]string{
		{}, {{"Edit(tickets/**)"}, nil}, {nil, {"Edit(tickets/**)"}}, {nil, {"Read(orders.csv)"}}, {nil, {"Read(**)"}}, {{"Read(**)", "Edit(**)"}, nil},
	}
	eachWay(t, func(t *testing.T, w way) {
		dir, _ := shop(t)
		for _, mode := range []haft.Mode{haft.DefaultMode, haft.AcceptEdits, haft.Plan, haft.DontAsk, haft.BypassPermissions} {
			for _, r := range rules {
				o := &haft.Options{Dir: dir, Mode: mode, AllowedTools: r[0], DisallowedTools: r[1]}
				w.use(t, o)
				c, err := haft.NewClient(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range same {
					ours, err := c.Explain(t.Context(), w.prefix+s.own, rawJSON(s.input))
					theirs, err2 := c.Explain(t.Context(), s.builtin, rawJSON(s.like))
					if err := errors.Join(err, err2); err != nil {
						t.Fatal(err)
					}
					if ours.Behavior != theirs.Behavior || ours.Rule != theirs.Rule || ours.ReadOnly != theirs.ReadOnly {
						t.Errorf("%s with %v: %s is %+v, %s is %+v", mode, r, s.own, ours, s.builtin, theirs)
					}
				}
				c.Close()
			}
		}
	})
}

// What rules and the mode plan deny is not done, and said in the words in which haft's own tool is denied.
func TestWhatIsDeniedIsNotDone(t *testing.T) {
	denied := func(t *testing.T, w way, name, input string, o haft.Options) string {
		dir, _ := shop(t, script.Turn{Blocks: []script.Block{{Tool: name, Input: []byte(input)}}}, says("Done."))
		o.Dir = dir
		answers, _ := w.play(t, &o)
		if _, err := os.Stat(filepath.Join(dir, "tickets")); err == nil {
			t.Errorf("%s: the ticket is there", name)
		}
		return strings.NewReplacer(dir, "DIR", w.prefix+"OpenTicket", "Write").Replace(answers)
	}
	eachWay(t, func(t *testing.T, w way) {
		for name, o := range map[string]haft.Options{
			"a rule": {Mode: haft.BypassPermissions, DisallowedTools: []string{"Edit(tickets/**)"}}, "plan mode": {Mode: haft.Plan}, "nobody is asked": {},
		} {
			ours := denied(t, w, w.prefix+"OpenTicket", late, o)
			theirs := denied(t, w, "Write", `{"file_path":"tickets/late.md","content":"x"}`, o)
			if ours == "" || !strings.HasPrefix(ours, strings.SplitN(theirs, ".", 2)[0]) {
				t.Errorf("%s: %q, and the tool of haft: %q", name, ours, theirs)
			}
		}
	})
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// An urgent ticket is for a user, whatever rules and modes allow.
func TestTheToolsOwnViewCounts(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		dir, _ := shop(t, w.calls("OpenTicket", `{"name":"late","text":"x","urgent":true}`), says("Done."))
		answers, _ := w.play(t, &haft.Options{Dir: dir, Mode: haft.AcceptEdits, AllowedTools: []string{w.prefix + "OpenTicket"}})
		if _, err := os.Stat(filepath.Join(dir, "tickets")); err == nil || !strings.Contains(answers, "an urgent ticket calls the team on duty") {
			t.Errorf("answers %q, %v", answers, err)
		}
	})
}

func TestARewindUndoesAToolsChange(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		dir, _ := shop(t, w.calls("OpenTicket", late), says("Done."))
		o := &haft.Options{Dir: dir, Mode: haft.AcceptEdits}
		w.use(t, o)
		c, err := haft.NewClient(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		id, err := c.Send("go")
		if err != nil {
			t.Fatal(err)
		}
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := m.(*haft.Result); ok {
				break
			}
		}
		path := filepath.Join(dir, "tickets", "late.md")
		if _, err := os.Stat(path); err != nil {
			t.Fatal(err)
		}
		if done, err := c.Rewind(t.Context(), id); err != nil {
			t.Fatalf("%+v, %v", done, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the ticket is still there")
		}
	})
}

func TestALongCallIsCancelled(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		dir, _ := shop(t, w.calls("BuildReport", `{"steps":6000}`), says("never"))
		o := &haft.Options{Dir: dir, AllowedTools: []string{w.prefix + "BuildReport"}}
		w.use(t, o)
		c, err := haft.NewClient(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Send("go"); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			if a, ok := m.(*haft.Assistant); ok && len(haft.ToolUses(a)) > 0 {
				time.AfterFunc(200*time.Millisecond, func() { c.Interrupt(context.Background()) })
			}
			if _, ok := m.(*haft.Result); ok {
				break
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %v to stop", took)
		}
	})
}

// resumed is the variable by which this test is its own program that is killed.
const resumed = "EXAMPLE_TOOLS_SESSION"

// A session whose process was killed during a call of the program's tool continues: the model is
// told that the call did not finish, and the tools are there again.
func TestAKilledSessionContinues(t *testing.T) {
	if id := os.Getenv(resumed); id != "" {
		if err := run(t.Context(), strings.NewReader(""), os.Stdout, "go", haft.Options{SessionID: id}); err != nil {
			t.Fatal(err)
		}
		return
	}
	w := ways["in the process"]
	dir, model := shop(t, w.calls("OpenTicket", `{"name":"first","text":"x"}`), w.calls("BuildReport", `{"steps":6000}`), w.calls("BuildReport", `{"steps":1}`), says("Done."))
	const id = "6f1f9c1e-7d3b-4c39-9d0d-0a4b6a9f1b11"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledSessionContinues$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), resumed+"="+id)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(model.Requests()) < 2 {
		if t.Context().Err() != nil {
			t.Fatal("the program asked nothing")
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond) // in the middle of the report
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	answers, _ := w.play(t, &haft.Options{Dir: dir, Resume: id})
	if !strings.Contains(answers, "The report took 1 steps.") {
		t.Errorf("answers %q", answers)
	}
	told := string(model.Requests()[2].Body)
	if !strings.Contains(told, "interrupted") || !strings.Contains(told, "BuildReport") {
		t.Errorf("the model is told %s", told)
	}
}

func TestANameThatIsTakenIsAnError(t *testing.T) {
	dir, _ := shop(t, says("never"))
	for name, want := range map[string]string{"Read": "haft has a tool of that name", "Task": "haft has a tool of that name", "a b": "wrongly built"} {
		taken := buildReport()
		taken.Name = name
		_, err := haft.NewClient(t.Context(), &haft.Options{Dir: dir, Transport: embed.New(&embed.Options{Tools: []tool.Tool{taken}})})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The program itself: it asks, and does what is answered.
func TestTheProgramAsks(t *testing.T) {
	for answer, opened := range map[string]bool{"y\n": true, "n\n": false} {
		dir, _ := shop(t, script.Turn{Blocks: []script.Block{{Tool: "OpenTicket", Input: []byte(late)}}}, says("Done."))
		var out strings.Builder
		if err := run(t.Context(), strings.NewReader(answer), &out, "go", haft.Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "tickets", "late.md")); (err == nil) != opened || !strings.Contains(out.String(), "OpenTicket wants to run") {
			t.Errorf("with %q: %v\n%s", answer, err, &out)
		}
	}
}

// Each state of a call and its progress reach a program that asks for them, and no other.
func TestAProgramSeesTheProgress(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		eachWay(t, func(t *testing.T, w way) {
			dir, _ := shop(t, w.calls("BuildReport", `{"steps":8}`), w.calls("OpenTicket", late), says("Done."))
			_, all := w.play(t, &haft.Options{Dir: dir, ToolProgress: wanted, AllowedTools: []string{w.prefix + "BuildReport"}, CanUseTool: func(context.Context, *haft.ToolRequest) (*haft.Permission, error) {
				return haft.Allow(), nil
			}})
			states := map[string][]string{}
			var reports []string
			for _, m := range all {
				if p, ok := m.(*wire.ToolProgress); ok {
					name := strings.TrimPrefix(p.ToolName, w.prefix)
					if s := states[name]; len(s) == 0 || s[len(s)-1] != p.State {
						states[name] = append(s, p.State)
					}
					if len(p.Progress) > 0 {
						reports = append(reports, string(p.Progress))
					}
				}
			}
			if !wanted {
				if len(states) > 0 {
					t.Errorf("unwanted: %v", states)
				}
				return
			}
			want := map[string][]string{
				"BuildReport": {wire.CallQueued, wire.CallExecuting, wire.CallCompleted},
				"OpenTicket":  {wire.CallQueued, wire.CallAsked, wire.CallExecuting, wire.CallCompleted},
			}
			if s := states["OpenTicket"]; len(s) == 5 && s[1] == wire.CallExecuting {
				states["OpenTicket"] = slices.Delete(s, 1, 2) // it may be reported before the question, while the change is computed
			}
			if diff := cmp.Diff(want, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if len(reports) < 2 || len(reports) > 8 || !strings.Contains(reports[0], "of 8") {
				t.Errorf("reports: %q", reports)
			}
		})
	}
}
