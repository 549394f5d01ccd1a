package harness_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/knowledge/agentdef"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/tools/subagent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// serve lets a function answer for the model.
func (r *rig) serve(answer script.AnswerFunc) {
	r.t.Helper()
	r.server.Close()
	server, err := scripttest.Serve(r.t, &script.Options{Answer: answer, Keep: 200})
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = server
	r.t.Cleanup(func() { server.Close() })
}

// play serves a main conversation, and others by the longest text that is in what they begin with.
func (r *rig) play(main []script.Turn, parts map[string][]script.Turn) {
	r.serve(func(q *script.Request) script.Turn {
		turns, longest := main, ""
		for when, part := range parts {
			if strings.Contains(q.FirstText(), when) && len(when) > len(longest) {
				turns, longest = part, when
			}
		}
		if q.Turn < len(turns) {
			return turns[q.Turn]
		}
		return says("done")
	})
}

func says(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func uses(name, input string) script.Turn {
	return script.Turn{Blocks: []script.Block{call(name, input)}}
}

// hangs says something, and then nothing more.
func hangs() script.Turn {
	return script.Turn{Blocks: []script.Block{{Text: "so far"}, {Text: "never"}}, Fault: script.Fault{Break: script.Hang, After: 4, Times: -1}}
}

// reports are what the calls of Agent returned.
func reports(events []agent.Event) (outs []subagent.Output, texts []string) {
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Tool == "Agent" && ev.Outcome.Agent == "" {
			out, _ := ev.Outcome.Result.Output.(subagent.Output)
			outs, texts = append(outs, out), append(texts, ev.Outcome.Result.Text())
		}
	}
	return outs, texts
}

// TestHowAgentsEnd takes an agent to each of its ends, through everything.
func TestHowAgentsEnd(t *testing.T) {
	busy := slices.Repeat([]script.Turn{{Blocks: []script.Block{{Text: "so far"}, call("Glob", `{"pattern":"*"}`)}}}, 9)
	for _, c := range []struct {
		status   subagent.Status
		child    []script.Turn
		settings string
		stop     bool
		text     string
	}{
		{status: subagent.Completed, child: []script.Turn{says("found it")}, text: "found it"},
		{status: subagent.Empty, child: []script.Turn{says("")}, text: "without a report"},
		{status: subagent.Stalled, child: []script.Turn{hangs()}, settings: `{"agents":{"idleSeconds":1}}`, text: "so far"},
		{status: subagent.Cancelled, child: []script.Turn{hangs()}, stop: true, text: "so far"},
		{status: subagent.Budget, child: busy, text: "so far"},
		{status: subagent.Budget, child: busy, settings: `{"agents":{"maxTokens":1}}`, text: "so far"},
		{status: subagent.Failed, child: []script.Turn{{Fault: script.Fault{Status: 400, Type: "invalid_request_error", Message: "no such thing"}}}, text: "no such thing"},
	} {
		t.Run(string(c.status)+c.settings, func(t *testing.T) {
			r := newRig(t)
			r.play([]script.Turn{uses("Agent", `{"description":"Look","prompt":"CHILD","subagent_type":"short","run_in_background":false}`), says("I see")}, map[string][]script.Turn{"CHILD": c.child})
			talk := r.talk(harness.Options{Settings: c.settings, Agents: []agentdef.Definition{{Name: "short", Description: "d", Prompt: "p", MaxTurns: 3}}}, harness.TalkOptions{})
			defer talk.Close(t.Context())
			talk.Send(agent.Prompt{Content: []model.Block{model.TextOf("go")}})
			var events []agent.Event
			for ev, err := range talk.Run(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, ev)
				if said, ok := ev.(agent.Said); ok && said.Agent != "" && c.stop {
					if err := talk.StopTask(t.Context(), said.Agent); err != nil {
						t.Error(err)
					}
				}
			}
			outs, texts := reports(events)
			if len(outs) != 1 || !strings.Contains(texts[0], c.text) {
				t.Fatalf("reports %q", texts)
			}
			finished := c.status == subagent.Completed || c.status == subagent.Empty
			if !finished && !strings.Contains(texts[0], "did not finish ("+string(c.status)+")") {
				t.Errorf("report %q, want the status %s", texts[0], c.status)
			}
			if finished && outs[0].Status != string(c.status) {
				t.Errorf("status %q, want %q", outs[0].Status, c.status)
			}
			if known := talk.Agents(); len(known) != 1 || known[0].State() != string(c.status) {
				t.Errorf("agents %+v", known)
			}
			if last := events[len(events)-1].(agent.Result); last.Text != "I see" {
				t.Errorf("%+v", last)
			}
		})
	}
}

// TestAnInterruptEndsTheAgentsThatAreWaitedFor stops a turn: the agent that it waits
// for ends with it, the one in the background works on and is heard of later.
func TestAnInterruptEndsTheAgentsThatAreWaitedFor(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{
		uses("Agent", `{"description":"beside","prompt":"BESIDE","run_in_background":true}`),
		uses("Agent", `{"description":"waited for","prompt":"CHILD","run_in_background":false}`),
		says("I heard"),
	}, map[string][]script.Turn{"CHILD": {hangs()}, "BESIDE": {hangs()}})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("go")}})
	kinds := map[string]string{} // by id
	ends := map[string]string{}
	var results []agent.Result
	for ev, err := range c.Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.TaskChanged:
			kinds[ev.Task.ID] = ev.Task.Description
			if ev.Change == "ended" {
				ends[ev.Task.Description] = ev.Task.Status
			}
		case agent.Said:
			if kinds[ev.Agent] == "waited for" {
				c.Agent.Interrupt("")
			}
		case agent.Result:
			results = append(results, ev)
			if len(results) > 1 {
				continue
			}
			for _, k := range c.Agents() {
				if (k.State() == "running") != (k.Description == "beside") {
					t.Errorf("after the interrupt %q is %s", k.Description, k.State())
				}
				if k.State() == "running" {
					if err := c.StopTask(t.Context(), k.ID); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	if ends["waited for"] != "stopped" || ends["beside"] != "stopped" {
		t.Errorf("ends %v", ends)
	}
	if len(results) != 2 || results[0].Reason != agent.AbortedTools || results[1].Origin != agent.TaskNotification || results[1].Text != "I heard" {
		t.Errorf("results %+v", results)
	}
}

var idOfAgent = regexp.MustCompile(`The agent (a[a-z0-9]+) is working in the background`)

// TestAModelStopsAnAgent lets the model end an agent by the tool that ends commands.
func TestAModelStopsAnAgent(t *testing.T) {
	r := newRig(t)
	r.serve(func(q *script.Request) script.Turn {
		switch {
		case strings.Contains(q.FirstText(), "CHILD"):
			return hangs()
		case q.Turn == 0:
			return uses("Agent", `{"description":"Hang","prompt":"CHILD","run_in_background":true}`)
		case q.Turn == 1:
			id := idOfAgent.FindSubmatch(q.Body)
			if id == nil {
				return says("no id")
			}
			return uses("TaskStop", `{"task_id":"`+string(id[1])+`"}`)
		}
		return says("stopped it")
	})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, last := r.say(c, "go")
	if last.Text != "stopped it" {
		t.Errorf("%+v", last)
	}
	var said string
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Tool == "KillShell" {
			said = ev.Outcome.Result.Text()
		}
	}
	if !strings.Contains(said, "(Hang) is being stopped") {
		t.Errorf("KillShell said %q", said)
	}
	if known := c.Agents(); len(known) != 1 || known[0].State() != "cancelled" {
		t.Errorf("agents %+v", known)
	}
}

// TestHooksSeeAgents shows that hooks run for agents, know whose event it is, and are
// heard by the agent.
func TestHooksSeeAgents(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{uses("Agent", `{"description":"Look","prompt":"CHILD","run_in_background":false}`), says("ok")}, map[string][]script.Turn{
		"CHILD": {uses("Read", `{"file_path":"`+filepath.Join(r.dir, "a")+`"}`), says("early"), says("late")},
	})
	if err := os.WriteFile(filepath.Join(r.dir, "a"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	see := func(e hook.Event, out func(hook.Input) hook.Output) hook.Hook {
		return hook.Hook{Event: e, Func: func(_ context.Context, in hook.Input) (hook.Output, error) {
			mu.Lock()
			defer mu.Unlock()
			if in.AgentID == "" && e == "PreToolUse" { // the call of Agent itself
				return hook.Output{}, nil
			}
			if in.AgentID == "" || in.AgentType != "general-purpose" || in.SessionID == "" || in.TranscriptPath == "" {
				t.Errorf("%s is told %+v", e, in.Common)
			}
			seen = append(seen, string(e))
			return out(in), nil
		}}
	}
	blocked := false
	c := r.talk(harness.Options{Hooks: []hook.Hook{
		see("SubagentStart", func(hook.Input) hook.Output {
			return hook.Output{Specific: &hook.Specific{HookEventName: "SubagentStart", AdditionalContext: "MIND THE GAP"}}
		}),
		see("PreToolUse", func(in hook.Input) hook.Output { return hook.Output{} }),
		see("SubagentStop", func(hook.Input) hook.Output {
			if blocked {
				return hook.Output{}
			}
			blocked = true
			return hook.Output{Decision: "block", Reason: "NOT YET"}
		}),
	}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "go")
	if _, texts := reports(events); len(texts) != 1 || !strings.Contains(texts[0], "late") {
		t.Errorf("reports %q", texts)
	}
	if want := []string{"SubagentStart", "PreToolUse", "SubagentStop", "SubagentStop"}; !slices.Equal(seen, want) {
		t.Errorf("hooks %q, want %q", seen, want)
	}
	var heard string
	for _, q := range r.server.Requests() {
		if strings.Contains(q.FirstText(), "CHILD") || strings.Contains(string(q.Body), "MIND THE GAP") {
			heard = string(q.Body)
		}
	}
	if !strings.Contains(heard, "MIND THE GAP") || !strings.Contains(heard, "NOT YET") {
		t.Errorf("the agent's last request does not hold what hooks said: %s", heard)
	}
}

// TestCommandsOfAnAgent shows that an agent hears of its own commands, that nobody
// else does, and that they end with it.
func TestCommandsOfAnAgent(t *testing.T) {
	r := newRig(t)
	r.serve(func(q *script.Request) script.Turn {
		child := strings.Contains(q.FirstText(), "CHILD")
		switch {
		case !child && q.Turn == 0:
			return uses("Agent", `{"description":"Run","prompt":"CHILD","run_in_background":false}`)
		case !child:
			return says("main has heard: " + q.LastText())
		case q.Turn == 0:
			return script.Turn{Blocks: []script.Block{
				call("Bash", `{"command":"echo $$ > pid; exec sleep 600","run_in_background":true}`),
				call("Bash", `{"command":"until [ -s pid ]; do sleep 0.01; done","run_in_background":true}`),
			}}
		case strings.Contains(string(q.Body), "task-notification"):
			return says("the command is over")
		case q.Turn > 200:
			return says("nobody told me")
		}
		return uses("Sleep", `{"duration_ms":20}`)
	})
	c := r.talk(harness.Options{Mode: "bypassPermissions"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, last := r.say(c, "go")
	if _, texts := reports(events); len(texts) != 1 || !strings.Contains(texts[0], "the command is over") {
		t.Errorf("reports %q", texts)
	}
	if last.Origin != "" {
		t.Errorf("the main conversation was told, too: %+v", last)
	}
	ended := 0
	for _, ev := range events {
		if ev, ok := ev.(agent.TaskChanged); ok && ev.Task.Type == "local_bash" && ev.Change == "ended" {
			ended++
		}
	}
	if ended != 2 {
		t.Errorf("front ends saw %d commands end, want 2", ended)
	}
	raw, err := os.ReadFile(filepath.Join(r.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(raw))); err == nil {
		t.Error("the agent's command outlives it")
	}
}

// TestWhatAgentsCostIsCountedOnce adds up a conversation with an agent that is woken.
func TestWhatAgentsCostIsCountedOnce(t *testing.T) {
	usage := &model.Usage{Input: 100, Output: 10}
	cost := func(turn script.Turn) script.Turn { turn.Usage = usage; return turn }
	var mu sync.Mutex
	requests := 0
	r := newRig(t)
	r.serve(func(q *script.Request) script.Turn {
		mu.Lock()
		requests++
		mu.Unlock()
		child := strings.Contains(q.FirstText(), "CHILD")
		switch id := regexp.MustCompile(`\[agent (a[a-z0-9]+)`).FindSubmatch(q.Body); {
		case child:
			return cost(says("did it"))
		case q.Turn == 0:
			return cost(uses("Agent", `{"description":"Do","prompt":"CHILD","run_in_background":false}`))
		case q.Turn == 1 && id != nil:
			return cost(uses("SendMessage", `{"to":"`+string(id[1])+`","message":"again"}`))
		}
		return cost(says("ok"))
	})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	_, last := r.say(c, "go")
	if got := last.Total["claude-opus-5-5"]; got.Input != int64(100*requests) || got.Output != int64(10*requests) || requests < 5 {
		t.Errorf("%d requests cost %+v", requests, got.Usage)
	}
}

// TestAnAgentGoesOnAfterAResume speaks to an agent of an earlier process.
func TestAnAgentGoesOnAfterAResume(t *testing.T) {
	r := newRig(t)
	var id string
	r.serve(func(q *script.Request) script.Turn {
		child := strings.Contains(q.FirstText(), "CHILD")
		switch {
		case child && strings.Contains(q.LastText(), "and then?"):
			if !strings.Contains(string(q.Body), "seven hills") {
				return says("I know nothing")
			}
			return says("seven hills, as I said")
		case child:
			return says("seven hills")
		case q.Turn == 0:
			return uses("Agent", `{"description":"Count hills","prompt":"CHILD: count","run_in_background":false}`)
		case strings.Contains(q.LastText(), "ask it"):
			return uses("SendMessage", `{"to":"`+id+`","message":"and then?"}`)
		}
		return says("ok: " + q.LastText())
	})
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	r.say(c, "go")
	known := c.Agents()
	if len(known) != 1 {
		t.Fatalf("agents %+v", known)
	}
	id = known[0].ID
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := r.talk(harness.Options{}, harness.TalkOptions{Continue: true})
	defer again.Close(t.Context())
	if known := again.Agents(); len(known) != 1 || known[0].State() != "completed" {
		t.Errorf("after the resume: %+v", known)
	}
	if _, last := r.say(again, "ask it"); !strings.Contains(last.Text, "seven hills, as I said") {
		t.Errorf("%+v", last)
	}
	if known := again.Agents(); len(known) != 1 || known[0].State() != "completed" {
		t.Errorf("after it went on: %+v", known)
	}
}

// TestAnIsolatedAgentStaysInItsCopy tries to leave the copy by the file tools, looks
// around in it, and does so again when it is woken.
func TestAnIsolatedAgentStaysInItsCopy(t *testing.T) {
	r := newRig(t)
	note := filepath.Join(r.dir, "note.txt")
	r.serve(func(q *script.Request) script.Turn {
		child := strings.Contains(q.FirstText(), "CHILD")
		switch id := regexp.MustCompile(`\[agent (a[a-z0-9]+)`).FindSubmatch(q.Body); {
		case child && q.Turn == 0:
			return script.Turn{Blocks: []script.Block{call("Write", in("file_path", filepath.Join(r.dir, "stray.txt"), "content", "stray")), call("Bash", `{"command":"pwd; echo x > mine.txt"}`)}}
		case child && q.Turn == 1:
			return uses("Glob", `{"pattern":"m*.txt"}`)
		case child && q.Turn == 3:
			return uses("Bash", `{"command":"pwd"}`)
		case child:
			return says("read")
		case q.Turn == 0:
			return uses("Agent", `{"description":"Do","prompt":"CHILD","isolation":"worktree","run_in_background":false}`)
		case q.Turn == 1 && id != nil:
			return uses("SendMessage", `{"to":"`+string(id[1])+`","message":"again"}`)
		}
		return says("ok")
	})
	if err := os.WriteFile(note, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	commit(t, r.dir)
	c := r.talk(harness.Options{Mode: "bypassPermissions"}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "go")
	results := map[string][]string{}
	for _, ev := range events {
		if ev, ok := ev.(agent.Returned); ok && ev.Outcome.Agent != "" {
			results[ev.Outcome.Tool] = append(results[ev.Outcome.Tool], ev.Outcome.Result.Text())
		}
	}
	copyDir := filepath.Join(r.dir, ".worktrees", "agent-")
	if w := results["Write"]; len(w) != 1 || !strings.Contains(w[0], "You work in a copy of the repository") || !strings.Contains(w[0], copyDir) {
		t.Errorf("Write said %q", w)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "stray.txt")); err == nil {
		t.Error("a file was written beside the copy")
	}
	if g := results["Glob"]; len(g) != 1 || !strings.Contains(g[0], "mine.txt") {
		t.Errorf("Glob said %q", g)
	}
	b := results["Bash"]
	if len(b) != 2 || !strings.Contains(b[0], copyDir) || !strings.Contains(b[1], copyDir) {
		t.Errorf("Bash ran in %q", b)
	}
}

// TestWhatADefinitionSays starts an agent whose definition uses every field.
func TestWhatADefinitionSays(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{uses("Agent", `{"description":"Do","prompt":"CHILD","subagent_type":"careful","run_in_background":false}`), says("later"), says("heard")}, map[string][]script.Turn{
		"CHILD": {uses("Agent", `{"description":"More","prompt":"CHILD2","subagent_type":"general-purpose","run_in_background":false}`), says("refused")},
	})
	home, _ := os.UserHomeDir()
	writeFile(t, filepath.Join(home, ".haft", "skills", "pdf", "SKILL.md"), "---\ndescription: reads\n---\nPDFS ARE READ BACKWARDS")
	c := r.talk(harness.Options{Agents: []agentdef.Definition{{
		Name: "careful", Description: "d", Prompt: "YOU ARE CAREFUL", Tools: []string{"Read", "Agent(Explore)"}, Skills: []string{"pdf", "none"}, Background: true, Effort: "low", Model: "claude-haiku-5-5",
	}}}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "go")
	if outs, _ := reports(events); len(outs) != 1 || !outs[0].IsAsync {
		t.Errorf("it was waited for: %+v", outs)
	}
	var request *script.Request
	for _, q := range r.server.Requests() {
		if strings.Contains(q.System(), "YOU ARE CAREFUL") {
			request = q
			break
		}
	}
	if request == nil {
		t.Fatal("its model was not asked")
	}
	if body := string(request.Body); request.Model != "claude-haiku-5-5" || !strings.Contains(body, "PDFS ARE READ BACKWARDS") || request.Tools != 2 {
		t.Errorf("model %s, %d tools, %s", request.Model, request.Tools, body)
	}
	var refused, warned bool
	for _, ev := range events {
		switch ev := ev.(type) {
		case agent.Returned:
			refused = refused || ev.Outcome.Agent != "" && strings.Contains(ev.Outcome.Result.Text(), "only start agents of these types: Explore")
		case agent.Notice:
			warned = warned || strings.Contains(ev.Text, "starts without the skill none")
		}
	}
	if !refused || !warned {
		t.Errorf("refused another kind %v, warned of the skill %v", refused, warned)
	}
}

// TestAPersonIsToldWhichAgentAsks looks at the question that a user gets.
func TestAPersonIsToldWhichAgentAsks(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{uses("Agent", `{"description":"Tidy up","prompt":"CHILD","run_in_background":false}`), says("ok")}, map[string][]script.Turn{
		"CHILD": {uses("Bash", `{"command":"touch made"}`), says("ok")},
	})
	var asked []string
	c := r.talk(harness.Options{}, harness.TalkOptions{Person: sched.AskerFunc(func(_ context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
		asked = append(asked, c.Call.Agent+": "+q.Reason)
		return tool.Verdict{Behavior: tool.Deny, Message: "no"}, nil
	})})
	defer c.Close(t.Context())
	r.say(c, "go")
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "a") || !strings.Contains(asked[0], "the agent general-purpose (Tidy up) wants it") {
		t.Errorf("asked %q", asked)
	}
}

// TestTasksAreShown shows that front ends hear of tasks.
func TestTasksAreShown(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{uses("TaskCreate", `{"subject":"Port it","description":"all of it"}`), says("ok")}, nil)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	defer c.Close(t.Context())
	events, _ := r.say(c, "go")
	var shown string
	for _, ev := range events {
		if ev, ok := ev.(agent.Changed); ok && ev.What == agent.Tasks {
			raw, err := json.Marshal(ev.Value)
			if err != nil {
				t.Fatal(err)
			}
			shown = string(raw)
		}
	}
	if !strings.Contains(shown, `"subject":"Port it"`) {
		t.Errorf("tasks %s", shown)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
