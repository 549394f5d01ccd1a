package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/models/catalog"
	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/sys/processgroup"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A progress shows what happens in a conversation.
type progress struct {
	display

	talk     *Talk
	status   status
	custom   statusLine
	count    counted
	working  *working // nil between turns
	todos    []todo
	todoView todoView
	listed   bool                  // the todos are in the scrollback as they are
	tasks    map[string]agent.Task // what runs in the background
	crew     map[string]agent.Task // all that was told of, agents in the foreground as well
	edited   bool                  // the last turn changed files
	advice   string                // what may be said next; "" for nothing
	lost     string                // the session's file whose loss was told of
	files    *fileList
	pending  []string // written before there was a conversation
	failure  error    // why no conversation could be opened; nil for no reason
}

// unsent tells of the prompts that were waiting and are not sent.
func (a *progress) unsent() string {
	waiting := slices.Clone(a.pending)
	if queued := a.takeBack(math.MaxInt); queued != "" {
		waiting = append(waiting, queued)
	}
	var b strings.Builder
	for _, text := range waiting {
		b.WriteString(a.paint.Warn.Of(a.t("Not sent: %s", strings.Join(strings.Fields(visible.Cells(text)), " "))) + "\r\n")
	}
	if len(waiting) > 0 {
		b.WriteString(a.paint.Dim.Of(a.t("When you start haft again, the up key brings back what was not sent.")) + "\r\n")
	}
	return b.String()
}

// goOn tells how the conversation can be gone on with, if there was one.
func (a *progress) goOn() string {
	if a.talk == nil || len(a.talk.Past.Said(a.ctx)) == 0 {
		return ""
	}
	return a.paint.Dim.Of(a.t("To continue: haft --resume %s", a.talk.State.Session())) + "\r\n"
}

// task takes in how something in the background is getting on.
func (a *progress) task(ev agent.TaskChanged) {
	a.crew[ev.Task.ID] = ev.Task
	if ev.Task.Status != "running" {
		delete(a.crew, ev.Task.ID)
	}
	if ev.Task.Background && ev.Task.Status == "running" {
		a.tasks[ev.Task.ID] = ev.Task
		return
	}
	if _, known := a.tasks[ev.Task.ID]; known {
		delete(a.tasks, ev.Task.ID)
		a.show.add(a.ended(ev.Task))
	}
}

// turn is the turn that runs.
func (a *progress) turn() *working {
	if a.working == nil {
		a.working = &working{since: time.Now(), texts: map[int]*text{}, think: map[int]*thought{}, calls: map[string]*call{}}
	}
	return a.working
}

// streamed shows a piece of an answer.
func (a *progress) streamed(ev model.Event) {
	w := a.turn()
	switch ev := ev.(type) {
	case model.Start:
		if len(w.texts)+len(w.think) > 0 { // of an answer that was cut off: the new one does not continue it
			a.retracted()
		}
	case model.Delta:
		switch ev.Type {
		case model.TextDelta:
			a.textAt(ev.Index).write(ev.Text)
		case model.ThinkingDelta:
			if w.think[ev.Index] == nil {
				w.think[ev.Index] = &thought{since: time.Now()}
				a.show.add(w.think[ev.Index])
			}
			w.think[ev.Index].text.WriteString(ev.Text)
		}
	case model.BlockStop:
		if b := w.texts[ev.Index]; b != nil {
			b.close()
			a.record(answerTitle, b.words.String())
			delete(w.texts, ev.Index)
		}
		if b := w.think[ev.Index]; b != nil {
			b.close()
			a.record("Thought", b.text.String())
			delete(w.think, ev.Index)
		}
	}
}

// textAt is the text block of an answer.
func (a *progress) textAt(index int) *text {
	w := a.turn()
	b := w.texts[index]
	if b == nil {
		b = &text{stream: markdown.New(a.view().width, a.paint)}
		w.texts[index] = b
		a.show.add(b)
	}
	return b
}

func (a *progress) callOf(useID, name string, input json.RawMessage) *call {
	w := a.turn()
	c := w.calls[useID]
	if c == nil {
		c = newCall(card.Of(a.talk.State.Tools(), useID, name, input))
		w.calls[useID] = c
		if !slices.Contains(listTools, name) {
			a.show.add(c)
		}
	}
	return c
}

// retracted takes back what was said and is asked for again. What has gone up
// already stays, with a word about it.
func (a *progress) retracted() {
	w := a.turn()
	for i, b := range w.texts {
		b.close()
		delete(w.texts, i)
	}
	for i, b := range w.think {
		b.close()
		delete(w.think, i)
	}
	a.note(a.t("The answer broke off. Retrying."))
}

func (a *progress) called(ev agent.Called) {
	if ev.Agent != "" {
		return
	}
	c := a.turn().calls[ev.UseID]
	if c == nil {
		return
	}
	if ev.Progress != nil {
		c.progress(ev.Progress, a.lang)
	} else if ev.State == sched.Executing && !c.started {
		c.started, c.since = true, time.Now()
	}
}

func (a *progress) returned(out *sched.Outcome) {
	if out.Agent != "" {
		return
	}
	c := a.callOf(out.UseID, out.Tool, out.Input)
	a.endCall(c, out)
	a.look() // a command may have changed the branch
	delete(a.turn().calls, out.UseID)
}

// endCall shows how a call went.
func (a *progress) endCall(c *call, out *sched.Outcome) {
	end := card.End(a.talk.State.Tools(), out, a.lang)
	c.end = &end
	a.edited = a.edited || len(end.Hunks) > 0
	a.count.added, a.count.removed = a.count.added+end.Added, a.count.removed+end.Removed
	a.record(lang.Text(c.Card.String()), fullCall(out, end))
}

// fullCall is all of a call: what was sent, what decided, what came back.
func fullCall(out *sched.Outcome, end card.Ending) string {
	text := "input " + plainjson.Indented(out.Input) + "\n"
	if end.Verdict != "" {
		text += end.Verdict + "\n"
	}
	text += "\n" + out.Result.Text()
	for _, h := range end.Hunks {
		if !tells(out.Result.Text(), h.Lines) {
			text += "\n" + strings.Join(h.Lines, "\n")
		}
	}
	return text
}

// added shows what joined the conversation.
func (a *progress) added(ev agent.Added) {
	switch {
	case ev.Agent != "":
	case ev.Kind == agent.Prompted && ev.Prompt != nil && !ev.Prompt.Silent:
		said := typedText(*ev.Prompt)
		a.show.add(&saidBlock{text: said})
		a.record("You", said)
	case ev.Kind == agent.Interrupted:
		a.turn().stops = true
	}
}

func (a *progress) compacted(ev agent.Compacted) {
	if ev.Err != nil {
		a.note(a.t("Could not compact the conversation: %s", ev.Err))
		return
	}
	a.show.add(&note{text: a.t("The conversation was compacted from %s to %s tokens.", plural.Thousands(ev.PreTokens), plural.Thousands(ev.Tokens)), quiet: true})
	a.measure()
}

func (a *progress) changed(ev agent.Changed) {
	switch ev.What {
	case agent.Mode:
		a.status.mode = fmt.Sprint(ev.Value)
	case agent.ModelName:
		a.status.model = fmt.Sprint(ev.Value)
		a.measure()
	case agent.Todos, agent.Tasks:
		a.todos, a.listed = todosOf(ev.Value), false
	case agent.Cleared:
		a.show.add(&note{text: a.t("Started a new conversation."), quiet: true})
		a.todos = nil
		a.measure()
	case agent.Directory:
		a.look()
	}
}

// todosOf reads the list as every front end gets it, as JSON.
func todosOf(value any) []todo {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var items []struct {
		todo
		Subject string `json:"subject"` // of a task
	}
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var list []todo
	for _, i := range items {
		i.Content = cmp.Or(i.Content, i.Subject)
		i.Active = cmp.Or(i.Active, i.Content)
		list = append(list, i.todo)
	}
	return list
}

// result ends a turn.
func (a *progress) result(r agent.Result) {
	w := a.turn()
	for _, c := range w.calls {
		c.close()
	}
	a.show.finish()
	switch {
	case r.Reason == agent.AbortedStreaming || r.Reason == agent.AbortedTools:
		a.show.add(&note{text: a.t("Interrupted. What should haft do instead?"), style: warning})
	case r.Reason.IsError() && r.Err == nil:
		a.show.add(&note{text: strings.Join(r.Errors, "\n") + " (" + string(r.Reason) + ")", style: failure})
	}
	if took := time.Since(w.since); took > 30*time.Second {
		a.show.add(&note{text: fmt.Sprintf("%s, %s", a.lang.Count(r.Calls, "call"), seconds(took)), quiet: true})
		a.attract(a.t("haft has finished and waits for you"))
	}
	if path := a.talk.Past.Lost(); path != "" && path != a.lost {
		a.lost = path
		a.note(a.t("The file of this session is gone: %s. You can continue here, but the session cannot be resumed later. /export saves it.", visible.Cells(path)))
	}
	if len(a.todos) > 0 && !a.listed { // it stays where it was changed
		a.listed = true
		a.show.add(&listBlock{slices.Clone(a.todos)})
	}
	a.advise(r)
	a.count.asking += r.APITime
	a.working = nil
	if a.files != nil {
		a.files.old = true
	}
	a.measure()
	a.look()
}

// advise suggests what may be said next: to continue what broke off, or to review what was
// changed.
func (a *progress) advise(r agent.Result) {
	switch {
	case r.Err != nil && (r.Err.Kind == model.Unauthorized || r.Err.Kind == model.Billing):
		a.advice = "/login"
	case r.Err != nil && r.Err.Kind == model.UnknownModel:
		a.advice = "/model"
	case r.Reason == agent.AbortedStreaming || r.Reason == agent.AbortedTools || r.Reason.IsError():
		a.advice = "continue"
	case a.edited:
		a.advice = "/review"
	default:
		a.advice = ""
	}
	a.edited = false
}

// streamEnded is told when the conversation's events end.
func (a *progress) streamEnded(err error) {
	if err != nil && a.ctx.Err() == nil {
		a.show.add(&note{text: a.t("The conversation has ended: %s", err), style: failure})
	}
	a.working = nil
}

// callFor is the running call that gave work to an agent; nil if there is none.
func (a *progress) callFor(agent string) *call {
	if agent == "" || a.working == nil {
		return nil
	}
	return a.working.calls[a.crew[agent].UseID]
}

func (a *progress) commandsLike(typed string) []pick {
	var items []pick
	for _, c := range a.allCommands() {
		if s := near.Fit(c.Name, typed); s > 0 {
			items = append(items, pick{value: "/" + c.Name, text: strings.TrimSpace("/" + c.Name + " " + c.Hint), detail: a.t(lang.Text(c.Description))})
		}
	}
	slices.SortStableFunc(items, func(x, y pick) int {
		return cmp.Compare(near.Fit(y.value[1:], typed), near.Fit(x.value[1:], typed))
	})
	items = slices.CompactFunc(items, func(x, y pick) bool { return x.value == y.value })
	return items[:min(len(items), maxMenu)]
}

// takeBack takes back prompts that wait to be heard, at most n of them, the newest.
func (a *progress) takeBack(n int) string {
	if a.talk == nil {
		return ""
	}
	var texts []string
	for _, p := range a.talk.Driver.TakeBack(n) {
		texts = append(texts, typedText(p))
	}
	return strings.Join(texts, "\n\n")
}

// editFile lets the user change a file in their editor.
func (a *progress) editFile(path string) {
	if a.opts.EditFile == nil {
		a.hint = a.t("no editor is set: set VISUAL or EDITOR")
		return
	}
	if err := a.lend(func() error { return a.opts.EditFile(path) }); err != nil {
		a.hint = a.t("could not edit: %s", err)
		return
	}
	a.show.add(&note{text: a.t("Edited %s; it takes effect in the next conversation.", visible.Cells(a.short(path))), quiet: true})
}

// needsModel reports whether there is no conversation because no model is set up.
func (a *progress) needsModel() bool { return a.opts.Setup != nil && a.opts.Setup.Needed(a.failure) }

// short is a path as seen from where the conversation works.
func (a *progress) short(path string) string {
	if a.talk == nil {
		return path
	}
	rest, ok := strings.CutPrefix(path, a.talk.Turns.Dir()+"/")
	if !ok {
		return path
	}
	return rest
}

// relative names files of the project in a text by their path in it.
func (a *progress) relative(text string) string {
	if a.talk == nil {
		return text
	}
	return strings.ReplaceAll(text, a.talk.Turns.Dir()+"/", "")
}

func (a *progress) where(scope string) string {
	if a.talk == nil {
		return scope
	}
	return visible.Indented(a.talk.Rules.Where(scope))
}

// replay shows the end of an earlier conversation.
func (a *progress) replay(past []session.Entry) {
	if len(past) == 0 {
		return
	}
	results := map[string]*sched.Outcome{}
	for _, e := range past {
		for _, b := range e.Message.Content {
			if b.Type == model.ToolResult {
				results[b.UseID] = resultOf(e.Message, b)
			}
		}
	}
	for _, e := range past {
		for _, b := range e.Message.Content {
			a.replayed(e.Message.Role, b, results)
		}
	}
	a.show.add(&note{text: a.t("— end of the earlier conversation; session %s continues —", a.talk.State.Session()), quiet: true})
}

// resultOf is how a call went, as the journal has it.
func resultOf(m *session.Message, b model.Block) *sched.Outcome {
	out := &sched.Outcome{UseID: b.UseID, Result: tool.Result{Content: b.Content}}
	if b.IsError {
		out.Status = sched.Failed
	}
	if b.IsError && stopped.MatchString(card.Text(out)) {
		out.Status = sched.Cancelled
	}
	why := m.Denied
	if _, ok := ask.Denied(card.Text(out)); why == nil && ok && b.IsError { // an older journal
		why = &session.Denied{Reason: "the user denied it"}
	}
	if why != nil {
		out.Status, out.Verdict = sched.Denied, tool.Verdict{Behavior: tool.Deny, Reason: why.Reason, Rule: why.Rule, Message: card.Text(out)}
	}
	if len(m.Output) > 0 {
		out.Result.Output = m.Output
	}
	return out
}

func (a *progress) replayed(role model.Role, b model.Block, results map[string]*sched.Outcome) {
	switch {
	case b.Type == model.Text && role == model.User:
		if said := harness.Typed([]model.Block{b}); said != "" {
			a.show.add(&saidBlock{text: said})
			a.record("You", said)
		}
	case b.Type == model.Text:
		t := &text{stream: markdown.New(a.view().width, a.paint)}
		t.write(b.Text)
		t.close()
		a.record(answerTitle, b.Text)
		a.show.add(t)
	case b.Type == model.ToolUse && !slices.Contains(listTools, b.Name):
		c := newCall(card.Of(a.talk.State.Tools(), b.ID, b.Name, b.Input))
		if out := results[b.ID]; out != nil {
			out.Tool, out.Input = b.Name, b.Input
			a.endCall(c, out)
		}
		c.close()
		a.show.add(c)
	}
}

// scopeOptions are where something can be kept, with the files.
func (a *progress) scopeOptions(first ...string) (options []string) {
	for _, s := range append(first, "local", "project", "user") {
		text := s
		if s != "session" {
			text += ": " + a.short(a.where(s))
		}
		options = append(options, text)
	}
	return options
}

// noModel says how to be asked again, if a model is needed.
func (a *progress) noModel(needed bool) {
	if needed {
		a.note(a.t("No model is set up yet. To see haft work without one, run haft demo in your shell.") + "\n" + a.nowhere())
	}
}

// measure asks the conversation how full and how expensive it is.
func (a *progress) measure() {
	if a.talk == nil {
		return
	}
	u := a.talk.State.ContextUsage()
	a.status.used, a.status.window = u.Total, u.Window
	a.status.cost, a.status.unpriced = 0, false
	if a.opts.ToolsOn == "" { // what confines commands elsewhere is not known
		a.status.sandbox = a.talk.Rules.Sandbox()
	}
	for _, m := range a.talk.State.Usage() {
		a.status.cost += m.Cost
		a.status.unpriced = a.status.unpriced || m.Unpriced
	}
}

// look finds out where the conversation works.
func (a *progress) look() {
	if s := &a.status; a.opts.ToolsOn != "" {
		s.host, s.dir = a.opts.ToolsOn, a.opts.ToolsDir
	} else {
		s.look(a.talk.Turns.Dir())
	}
}

// runStatusLine has the command run with what is so now, if there is one.
func (a *progress) runStatusLine() {
	if a.talk == nil || a.custom.running {
		return
	}
	command, facts := a.talk.Rules.StatusLine()
	if command == "" {
		a.custom = statusLine{}
		return
	}
	told := a.statusJSON(facts, 0)
	if told == a.custom.told {
		return
	}
	a.custom.told, a.custom.running = told, true
	told = a.statusJSON(facts, time.Since(a.count.began))
	dir := a.talk.Turns.Dir()
	go func() {
		text, err := commandLine(a.ctx, statusLineTime, command, dir, told)
		a.later(func() {
			a.custom.running, a.dirty = false, true
			if err != nil && !a.custom.failed {
				a.custom.failed = true
				a.note(a.t("The statusLine command failed: %s", err))
			}
			if err == nil {
				a.custom.text, a.custom.failed = text, false
			}
		})
	}()
}

// commandLine runs a command of the settings, for a time at most, and returns the first lines
// of what it prints.
func commandLine(ctx context.Context, most time.Duration, command, dir, input string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	out := &boundedBuffer{most: statusLineBytes}
	sh, err := ownprogram.Find("sh", dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, sh, "-c", command)
	cmd.Dir, cmd.Stdin, cmd.Stdout = dir, strings.NewReader(input), out
	cmd.WaitDelay = time.Second // for what it started and left
	processgroup.Own(cmd)
	err = cmd.Run()
	// It runs at every change, so what it leaves would pile up, and it has said all it had to say
	// even if that holds its output open.
	processgroup.End(cmd)
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			return nil, lang.Errorf("it took longer than %s", most)
		}
		return nil, err
	}
	return firstLines(out.String()), nil
}

// statusJSON is what the command reads, with the names that such commands expect.
func (a *progress) statusJSON(facts StatusFacts, passed time.Duration) string {
	type m map[string]any
	s, dir, last, used, written := &a.status, a.talk.Turns.Dir(), &a.count.last, 0.0, int64(0)
	if s.window > 0 {
		used = 100 * float64(s.used) / float64(s.window)
	}
	for _, u := range a.talk.State.Usage() {
		written += u.Output
	}
	told := m{
		"hook_event_name": "Status", "session_id": a.talk.State.Session(), "transcript_path": facts.Journal, "cwd": dir, "version": a.opts.Version,
		"model":           m{"id": s.model, "display_name": cmp.Or(catalog.Lookup(s.model).Name, s.model)},
		"workspace":       m{"current_dir": dir, "project_dir": dir, "added_dirs": append([]string{}, facts.AddDirs...)},
		"permission_mode": s.mode, "output_style": m{"name": facts.Style}, "effort": m{"level": facts.Effort}, "exceeds_200k_tokens": s.used > 200_000,
		"cost": m{
			"total_cost_usd": s.cost, "total_duration_ms": passed.Milliseconds(), "total_api_duration_ms": a.count.asking.Milliseconds(),
			"total_lines_added": a.count.added, "total_lines_removed": a.count.removed,
		},
		"context_window": m{
			"context_window_size": s.window, "total_input_tokens": s.used, "total_output_tokens": written, "used_percentage": used, "remaining_percentage": 100 - used,
			"current_usage": m{"input_tokens": last.Input, "output_tokens": last.Output, "cache_creation_input_tokens": last.CacheWrite, "cache_read_input_tokens": last.CacheRead},
		},
	}
	if s.editor != "" {
		told["vim"] = m{"mode": strings.ToUpper(s.editor)}
	}
	raw, err := json.Marshal(told)
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// nowhere says what can be done without a conversation. Without a model none can be started.
func (a *progress) nowhere() string {
	if a.needsModel() {
		return a.t("/login sets up a model, /exit quits.")
	}
	return a.t("/login sets up a model, /new starts a conversation, /exit quits.")
}

// turnRuns reports whether calls or texts of a turn are live.
func (a *progress) turnRuns() bool {
	return a.working != nil && len(a.working.calls)+len(a.working.texts)+len(a.working.think) > 0
}

// allCommands are all that can be typed.
func (a *progress) allCommands() []Command {
	list := a.talk.Input.Commands()
	for _, c := range drive.ScreenCommands() {
		list = append(list, Command{Name: c.Name, Description: c.Description})
	}
	return list
}

// help shows what can be typed, and what keys do.
func (a *progress) help() {
	all := a.allCommands()
	width := 0
	name := func(c Command) string { return strings.TrimSpace("/" + c.Name + " " + c.Hint) }
	for _, c := range all {
		width = max(width, min(ansi.StringWidth(name(c)), 40))
	}
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s%s  %s\n", name(c), strings.Repeat(" ", max(width-ansi.StringWidth(name(c)), 0)), a.t(lang.Text(c.Description)))
	}
	a.openHelp(a.t("help"), b.String()+"\n"+a.keysHelp())
}

// toggleTodos shows or hides the list.
func (a *progress) toggleTodos() {
	switch {
	case len(a.todos) == 0:
		a.hint = a.t("there are no todos")
	case a.todoView == todosShown || a.todoView == todosAtWork && a.working != nil:
		a.todoView = todosHidden
	default:
		a.todoView = todosShown
	}
}

// again is the opening that continues the conversation where it is, which may be before messages that were taken back, with
// its mode and rules.
func (a *progress) again() Opening {
	kept := a.talk.Rules.Keep()
	past := a.talk.Past.Said(a.ctx)
	if len(past) == 0 {
		return Opening{Kept: kept}
	}
	return Opening{Resume: a.talk.State.Session(), At: past[len(past)-1].UUID, Kept: kept, Shown: true}
}

// crewLines are the agents that work in the background, each with what it does now.
func (a *progress) crewLines(v view) []string {
	var agents []agent.Task
	for _, t := range a.tasks {
		if t.Type == "local_agent" {
			agents = append(agents, t)
		}
	}
	slices.SortFunc(agents, func(x, y agent.Task) int {
		return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.ID, y.ID))
	})
	const most = 5
	var lines []string
	for i, t := range agents {
		if i == most {
			lines = append(lines, v.paint.Dim.Of("  └ … "+v.t("%d more agents", len(agents)-most)))
			break
		}
		mark := "├"
		if i == len(agents)-1 {
			mark = "└"
		}
		detail := a.lang.Count(t.ToolUses, "call")
		if t.Tokens > 0 {
			detail = v.t("%s, %s tokens", detail, plural.Thousands(t.Tokens))
		}
		if t.LastTool != "" {
			detail += " · " + visible.Cells(t.LastTool)
		}
		name := visible.Cells(taskName(t))
		lines = append(lines, cut("  "+v.paint.Dim.Of(mark)+" "+name+v.paint.Dim.Of(" · "+detail), v.width))
	}
	return lines
}
