package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/hook"
	"github.com/haftdev/haft/internal/sys/stackroom"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// An Agent is a conversation with a model that can call tools.
type Agent struct {
	inbox

	opts Options
	form *answerForm // of a structured answer; nil if it is text
	out  *outbox

	prompt   string // the last one of a turn
	set      settings
	revealed []string          // deferred tools that the model has found
	refused  map[string]string // media that an API has refused, with their replacement texts, by digest
	journal  Journal
	talk     conversation // only the turn changes it
	naming   naming       // likewise
	ledger   ledger
	noted    states

	// These belong to the turn that runs.
	started bool            // the session's first turn has begun
	source  string          // how it began
	fresh   bool            // the model knows no facts yet, or has forgotten them
	named   map[string]bool // deferred tools whose names the model knows, and news of others
	told    map[string]bool // notices that are given once
}

// settings are what may change between two requests.
type settings struct {
	model    string
	own      string // the model to go back to when the turn ends; "" if it stays
	mode     string
	thinking *model.ThinkingOptions
	effort   string
	tools    *tool.Set
}

// New returns an agent. It starts nothing and is cheap.
func New(opts *Options) (*Agent, error) {
	if opts == nil || opts.Model == nil || opts.ModelName == "" {
		return nil, errors.New("new agent: Model and ModelName must be set")
	}
	a := &Agent{
		inbox: inbox{work: make(chan struct{}, 1)}, opts: *opts, out: newOutbox(),
		named: map[string]bool{}, told: map[string]bool{}, journal: opts.Journal, fresh: true, source: cmp.Or(opts.Source, "startup"),
		revealed: slices.Clone(opts.Revealed), refused: maps.Clone(opts.Refused), noted: states{known: map[string]json.RawMessage{}, waiting: map[string]bool{}},
	}
	if a.journal == nil {
		a.journal = session.Memory("")
	}
	a.set = settings{model: opts.ModelName, mode: opts.Mode, thinking: opts.Thinking, effort: opts.Effort}
	if opts.History != nil {
		if err := a.talk.load(opts.History); err != nil {
			return nil, err
		}
		a.talk.withoutRefused(a.refused)
		a.talk.heedMedia(a.mediaLimit(opts.ModelName))
	}
	if opts.Structured != nil {
		var err error
		if a.form, err = newAnswerForm(opts.Structured); err != nil {
			return nil, err
		}
	}
	if err := a.useTools(opts.Tools); err != nil {
		return nil, err
	}
	a.ledger = newLedger(&a.opts)
	for name, value := range opts.States {
		a.note(name, value)
	}
	a.naming.load(opts.History)
	a.recallNames(opts.History)
	if opts.History != nil {
		a.noted.begun = opts.History.Len() > 0
		a.ledger.restart(cmp.Or(opts.HistoryTokens, tokensOf(opts.History.Size())))
		a.ledger.counted = opts.HistoryTokens > 0
	}
	return a, nil
}

// Emit puts an event into the stream that Run returns. Parts outside the loop report with
// it: to-dos, tasks, hooks, notices. It may be called at any time; unread events wait for
// the next Run.
func (a *Agent) Emit(ev Event) {
	a.out.put(ev)
	if t, ok := ev.(TaskChanged); ok {
		a.track(t.Task) // afterwards: the end of the last task may end Run
	}
}

// Unread returns the events that no Run has delivered, such as those at the end of the
// session.
func (a *Agent) Unread() []Event {
	var events []Event
	for ev, ok := a.out.take(); ok; ev, ok = a.out.take() {
		events = append(events, ev)
	}
	return events
}

// Close tells the hooks that the session ends; reason is clear, logout, exit…. It is called
// once, when no Run is running, and does nothing for a sub-agent.
func (a *Agent) Close(ctx context.Context, reason string) {
	if a.opts.Agent == "" {
		a.fire(ctx, hook.SessionEnd{Reason: reason})
		a.noteBeside()
	}
}

// fire runs the hooks of an event, if there are any.
func (a *Agent) fire(ctx context.Context, d hook.Detail) hook.Outcome {
	if a.opts.Hooks == nil {
		return hook.Outcome{}
	}
	return a.opts.Hooks.Fire(ctx, a.opts.Agent, d)
}

// Session names the session that the conversation belongs to.
func (a *Agent) Session() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.journal.ID()
}

// Prompt is the id of the last prompt that the model was sent, or is about to be; "" if there
// was none.
func (a *Agent) Prompt() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.prompt
}

// leaveOutMedia removes images and documents that the provider may have refused, for this
// session and whenever it is resumed. It reports whether there were any.
func (a *Agent) leaveOutMedia(e *model.Error) bool {
	a.mu.Lock()
	gone := a.talk.stripMedia("[Removed because the model's API rejected it: " + e.Message + "]")
	if a.refused == nil {
		a.refused = map[string]string{}
	}
	maps.Copy(a.refused, gone)
	refused := maps.Clone(a.refused)
	a.mu.Unlock()
	if len(gone) == 0 {
		return false
	}
	a.note(StateRefused, refused)
	a.out.put(Notice{Level: "warning", Tag: "media", Text: fmt.Sprintf("The model's API rejected an image or document (%s). The conversation continues without it.", e.Message)})
	return true
}

// estimate is how many tokens the next request has. It is called with mu held.
func (a *Agent) estimate(tools *tool.Set) int64 {
	if a.ledger.counted {
		return a.ledger.tokens()
	}
	return a.tokensOfSystem() + tokensOf(len(tools.Request())) + a.ledger.tokens()
}

// asked is the name of the model that the next request goes to. It is called with mu held.
func (a *Agent) asked() string {
	if a.set.mode == "plan" && a.opts.PlanModel != "" && a.set.model == a.opts.ModelName {
		return a.opts.PlanModel
	}
	return a.set.model
}

// adjusted reports once that requests differ from what was asked for.
func (a *Agent) adjusted(ev model.Adjusted) {
	if !a.told[ev.Text] {
		a.told[ev.Text] = true
		a.out.put(Notice{Level: "warning", Tag: "model", Text: ev.Text})
	}
}

// mediaLimit is how many images, or pages of documents, a request may have.
func (a *Agent) mediaLimit(name string) int {
	if a.opts.Context.Media == nil {
		return 100
	}
	return a.opts.Context.Media(name)
}

// settings returns what the next request is made with.
func (a *Agent) settings() settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.set
}

// tail returns the messages that must not be summarised: what was said since the last
// answer, and that answer if the results of its calls are part of it.
func (a *Agent) tail() ([]model.Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.talk
	c.close("the turn was ended")
	if len(c.heard) == 0 {
		return nil, nil
	}
	heard := model.Message{Role: model.User, Content: c.heard}
	answers := c.history.Len()
	if c.sent {
		answers--
	}
	if c.heard[0].Type != model.ToolResult || answers == 0 {
		return []model.Message{heard}, nil
	}
	last, err := c.history.Message(answers - 1)
	if err != nil {
		return nil, err
	}
	return []model.Message{last, heard}, nil
}

// SetModel changes the model from the next request on.
func (a *Agent) SetModel(name string) {
	a.changeModel(func(s *settings) { s.model, s.own = name, "" })
	a.note(StateModel, name)
}

// lendModel changes the model until the turn ends.
func (a *Agent) lendModel(name string) {
	a.changeModel(func(s *settings) { s.model, s.own = name, cmp.Or(s.own, s.model) })
}

func (a *Agent) changeModel(change func(*settings)) {
	a.mu.Lock()
	before := a.set.model
	change(&a.set)
	now := a.set.model
	a.mu.Unlock()
	if now != before {
		a.out.put(Changed{ModelName, now})
	}
}

// SetMode changes the permission mode at once.
func (a *Agent) SetMode(mode string) error {
	if a.opts.Permissions == nil {
		return errors.New("could not change the permission mode: this session has none")
	}
	if err := a.opts.Permissions.SetMode(mode); err != nil {
		return err
	}
	a.mu.Lock()
	a.set.mode = mode
	a.mu.Unlock()
	a.note(StateMode, mode)
	a.out.put(Changed{Mode, mode})
	return nil
}

// SetThinking changes how the model thinks, from the next request on; nil leaves it to the
// client.
func (a *Agent) SetThinking(t *model.ThinkingOptions) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set.thinking = t
}

// SetEffort changes the effort, from the next request on; "" leaves it to the provider.
func (a *Agent) SetEffort(effort string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set.effort = effort
}

// Effort returns the effort of the next request; "" leaves it to the provider.
func (a *Agent) Effort() string { return a.settings().effort }

// SetTools changes the tools, from the next request on. What the provider has cached stays
// valid: see [tool.Set.Next].
func (a *Agent) SetTools(s *tool.Set) error {
	if err := a.useTools(s); err != nil {
		return err
	}
	a.out.put(Changed{Tools, a.Tools()})
	return nil
}

// Tools returns the tools of the next request.
func (a *Agent) Tools() *tool.Set {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.set.tools
}

// useTools takes a set and adds what every set of the conversation has: the tool of a
// structured answer, and what the model has found.
func (a *Agent) useTools(s *tool.Set) error {
	if s == nil {
		s = tool.NewSet(nil, nil, nil, nil)
	}
	if a.opts.Structured != nil && s.Lookup(structuredName) == nil {
		s = s.Append(a.form.tool())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.set.tools != nil {
		s = a.set.tools.Next(s)
	}
	if !s.Sealed() {
		s = a.withRevealed(s)
	}
	a.set.tools = s
	return nil
}

// Usage returns what the session has cost so far, by model.
func (a *Agent) Usage() map[string]ModelUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.ledger.total)
}

// Spend adds what was used outside the loop, such as by a sub-agent, to the cost of the
// session.
func (a *Agent) Spend(name string, u model.Usage) {
	if u == (model.Usage{}) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ledger.spent(name, u)
	a.ledger.beside[name] = a.ledger.beside[name].Add(u)
	a.ledger.told = false
}

// ContextUsage returns how full the context is.
func (a *Agent) ContextUsage() ContextUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := ContextUsage{
		Model: a.set.model, System: a.tokensOfSystem(), Tools: tokensOf(len(a.set.tools.Request())),
		Messages: tokensOf(a.talk.history.Size()), Window: a.window(a.set.model), Total: a.estimate(a.set.tools),
	}
	u.CompactAt = a.compactAt(u.Window)
	return u
}

func (a *Agent) tokensOfSystem() (tokens int64) {
	for _, s := range a.opts.System {
		tokens += tokensOf(len(s.Text))
	}
	return tokens
}

func (a *Agent) window(name string) int64 {
	if a.opts.Context.Window != nil {
		if w := a.opts.Context.Window(name); w > 0 {
			return w
		}
	}
	return 200_000
}

// noteResults remembers what the model can see from now on.
func (a *Agent) noteResults(outcomes []*sched.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, out := range outcomes {
		a.talk.note(out)
	}
}

// shown says where the model can see a result; "" if it cannot.
func (a *Agent) shown(out *sched.Outcome) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk.shown(out)
}

// resultLimit is how many characters the results of one message may have: about half of the
// window, which leaves room for what comes after them.
func (a *Agent) resultLimit(model string) int {
	if a.opts.Sched.MessageLimit > 0 {
		return a.opts.Sched.MessageLimit
	}
	return int(a.window(model)) * 2 // a token has about four characters
}

// compactAt is how many tokens of a window are too many; 0 means no limit.
func (a *Agent) compactAt(window int64) int64 {
	switch share := a.opts.Context.CompactAt; {
	case share < 0:
		return 0
	case share == 0:
		return window * 8 / 10
	default:
		return int64(share * float64(window))
	}
}

// History returns the conversation as it would be sent.
func (a *Agent) History() *model.History {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk.history.Prefix(a.talk.history.Len())
}

// noteOnce is note for what may be noted already.
func (a *Agent) noteOnce(name, value string) {
	a.mu.Lock()
	known := string(a.noted.known[name])
	a.mu.Unlock()
	if raw, err := json.Marshal(value); err != nil || known != string(raw) {
		a.note(name, value)
	}
}

// note keeps a fact that a resumed session needs.
func (a *Agent) note(name string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		a.unnoted(name, err)
		return
	}
	a.mu.Lock()
	j, begun := a.journal, a.noted.begun
	a.noted.known[name] = raw
	a.noted.waiting[name] = !begun
	a.mu.Unlock()
	if begun {
		a.write(j, name, raw)
	}
}

// begin writes down what waits for a prompt.
func (a *Agent) begin() {
	a.mu.Lock()
	j, known, waiting := a.journal, maps.Clone(a.noted.known), maps.Clone(a.noted.waiting)
	a.noted.begun = true
	clear(a.noted.waiting)
	a.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if waiting[name] {
			a.write(j, name, known[name])
		}
	}
}

// write stores a state. It is not part of the conversation, so a failure is left to the
// next entry that is.
func (a *Agent) write(j Journal, name string, raw json.RawMessage) {
	if err := j.Append(context.Background(), session.Entry{Agent: a.opts.Agent, State: &session.State{Name: name, Value: raw}}); err != nil {
		a.unnoted(name, err)
	}
}

func (a *Agent) unnoted(name string, err error) {
	a.out.put(Notice{Level: "warning", Text: fmt.Sprintf("save %s: %s", name, err)})
}

// noteBeside records what was used outside of answers, if that has grown.
func (a *Agent) noteBeside() {
	a.mu.Lock()
	told, beside := a.ledger.told, maps.Clone(a.ledger.beside)
	a.ledger.told = true
	a.mu.Unlock()
	if !told {
		a.note(StateBeside, beside)
	}
}

// Run takes up what is queued, turn by turn, and returns what happens. It ends when nothing is
// queued, no task in the background could still wake the conversation and no Hold is active
// (see [Agent.Hold]), or when ctx ends; the last pair then has a nil event and the error.
//
// Leaving the loop, even by a panic, stops the turn and waits for its end; unread events are
// kept for the next Run. One goroutine at a time may range over Run.
func (a *Agent) Run(ctx context.Context) iter.Seq2[Event, error] {
	return a.RunAwaiting(ctx, func(Task) bool { return true })
}

// RunAwaiting is Run for a front end that does not wait for every background task, but only
// for those for which awaits returns true. awaits is called when nothing is queued, and
// again after Reconsider; a turn is never cut short.
func (a *Agent) RunAwaiting(ctx context.Context, awaits func(Task) bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !a.enter() {
			yield(nil, errors.New("run agent: it is already running"))
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			stackroom.Reserve()
			a.takeTurns(ctx, awaits)
		}()
		defer func() {
			cancel(errLeft)
			<-done
			a.leave()
		}()
		for ev := range a.out.until(done) {
			if !yield(ev, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
		}
	}
}

// takeTurns runs turns until there is nothing to wait for.
func (a *Agent) takeTurns(ctx context.Context, awaits func(Task) bool) {
	for ctx.Err() == nil {
		if t := a.next(ctx); t != nil {
			t.run()
			continue
		}
		if a.opts.Busy != nil && !a.awaited() {
			if err := a.opts.Busy(ctx, false); err != nil {
				a.out.put(Notice{Level: "warning", Tag: "session", Text: sentence("Could not let other processes continue the session: " + err.Error())})
			}
		}
		if !a.waits(awaits) {
			return
		}
		select {
		case <-a.work:
		case <-ctx.Done():
		}
	}
}

// next starts the turn of the next prompt; nil if there is none.
func (a *Agent) next(ctx context.Context) *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queue) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(a.queue, func(p Prompt) bool { return p.Priority == Now }))
	p := a.queue[at]
	a.queue = slices.Delete(a.queue, at, at+1)
	a.turn = newTurn(ctx, a, p)
	return a.turn
}

// Notify tells front ends and the model that a task has ended: at the next boundary of the
// running turn, or in a separate turn. The model is not told again what it already knows.
func (a *Agent) Notify(t Task) {
	a.mu.Lock()
	known := a.heard[t.ID]
	a.mu.Unlock()
	if !known {
		a.Send(Prompt{Origin: TaskNotification, Content: []model.Block{model.TextOf(notification(t))}, task: t.ID})
	}
	a.Emit(TaskChanged{Task: t, Change: "ended"})
}

// notification is how the model reads of the end of a task.
func notification(t Task) string {
	var b strings.Builder
	b.WriteString("<task-notification>\n")
	for _, f := range [][2]string{{"task-id", t.ID}, {"tool-use-id", t.UseID}, {"output-file", t.OutputFile}, {"status", t.Status}, {"summary", t.Summary}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "<%s>%s</%s>\n", f[0], escape.Replace(f[1]), f[0])
		}
	}
	b.WriteString("</task-notification>")
	return b.String()
}

// sealTools fixes the tools as the provider will have cached them from the next request on.
// Before that, references in results are adjusted to the available tools: an API refuses a
// reference to a missing one. It is called with mu held.
func (a *Agent) sealTools() {
	if a.set.tools.Sealed() {
		return
	}
	a.talk.settleReferences(a.set.tools)
	a.set.tools = a.set.tools.Seal()
}

// loadTools describes tools that a prompt is about, if the conversation has not begun.
// Later the model searches for them.
func (a *Agent) loadTools(names []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.set.tools.Sealed() {
		a.set.tools = a.set.tools.Load(names...)
	}
}

// withRevealed returns a set in which the model knows the tools that it has found before.
// Those that the conversation no longer introduces are loaded with the rest. It is called
// with mu held.
func (a *Agent) withRevealed(s *tool.Set) *tool.Set {
	var found, lost []string
	for _, name := range a.revealed {
		if a.talk.introduces(name) {
			found = append(found, name)
		} else {
			lost = append(lost, name)
		}
	}
	if found == nil && lost == nil {
		return s
	}
	return s.Load(lost...).Reveal(found...)
}

// recallNames finds the tools that a resumed conversation knows by name.
func (a *Agent) recallNames(h *model.History) {
	for _, note := range Reminders(h) {
		a.named[note] = true
		if names, ok := strings.CutPrefix(note, introduction); ok {
			for _, name := range strings.Split(names, "\n") {
				a.named[name] = true
			}
		}
	}
}

// loadPlainly continues without references to tools, which the server does not take.
func (a *Agent) loadPlainly(e *model.Error) {
	a.mu.Lock()
	a.set.tools = a.set.tools.Plain()
	a.talk.settleReferences(a.set.tools)
	a.mu.Unlock()
	a.note(StatePlain, true)
	a.out.put(Notice{Level: "info", Tag: "tools", Text: fmt.Sprintf("The model's server does not support tool references (%s). From now on, ToolSearch results include tool descriptions.", e.Message)})
}

// cost is what the session has cost since it was started or resumed, and whether all of it
// is known.
func (a *Agent) cost() (usd float64, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	usd, known = -a.ledger.before, true
	for _, u := range a.ledger.total {
		usd += u.Cost
		known = known && !u.Unpriced
	}
	return usd, known
}

// returnModel goes back to the model that the turn did not borrow.
func (a *Agent) returnModel() {
	a.changeModel(func(s *settings) { s.model, s.own = cmp.Or(s.own, s.model), "" })
}

var errLeft = errors.New("nothing is reading the events any more")

// newTurn is called with a.mu held.
func newTurn(ctx context.Context, a *Agent, p Prompt) *turn {
	a.prompt = p.UUID
	t := &turn{
		prompt: p, began: time.Now(), feed: sched.NewFeed(), relayed: make(chan struct{}), shown: newCounter(),
	}
	t.exchange = exchange{a: a, prompts: []string{p.UUID}, tools: a.set.tools, journal: a.journal, lasting: context.WithoutCancel(ctx)}
	t.repeats = sched.NewRepeats(a.opts.Repeats)
	t.ctx, t.free = ctx, func() {}
	if limit := a.opts.Limits.Time; limit > 0 {
		t.ctx, t.free = context.WithTimeoutCause(ctx, limit, errTimeUp)
	}
	t.asking, t.stop = context.WithCancelCause(t.ctx)
	t.calls = sched.New(t.pipeline())
	t.res = Result{UUID: session.NewUUID(), Origin: p.Origin, Sender: p.Sender, Command: p.command}
	return t
}
