package tui

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// An app is haft on a terminal.
type app struct {
	drawing

	keys key.Decoder

	release func() <-chan struct{} // ends the conversation's stream, and tells when it has ended
	stream  int                    // which one is shown: events of an older one are dropped
	events  chan streamed
	// reopens says that the conversation is opened again once nothing runs in it.
	reopens reopening
	// unguarded says that hooks which guard the folder do not run, and the user has
	// not decided about that yet: nothing is begun.
	unguarded bool
	// declined is what the folder brings and the user did not want to trust: they are asked
	// once.
	declined map[string]bool

	lastEsc time.Time
	flush   <-chan time.Time // when a lone escape is a key
}

// frameCount count what was written to the terminal.
type frameCount struct {
	Count, Bytes, Largest int
}

// streamed is an event of the conversation that is shown, or its end.
type streamed struct {
	stream int
	ev     agent.Event
	err    error
	end    bool
}

// Run shows conversations until the person leaves or ctx ends. The terminal must
// be in raw mode.
func Run(ctx context.Context, o *Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := newApp(ctx, o)
	a.begin()
	defer a.end()
	go a.read(o.In)
	a.loop()
	return a.err
}

func newApp(ctx context.Context, o *Options) *app {
	shown := progress{display: newDisplay(ctx, o), tasks: map[string]agent.Task{}, crew: map[string]agent.Task{}}
	written := entry{
		dialogs: dialogs{progress: shown}, write: composer.New(shown.opts.History.Load()),
		commandsRun: map[*call]context.CancelFunc{},
	}
	return &app{drawing: drawing{menus: menus{entry: written}}, events: make(chan streamed), declined: map[string]bool{}}
}

const (
	// bracketed paste, focus reports, and keys with what is held down where the
	// terminal can tell.
	// The title of the window is put aside and brought back.
	enterModes = "\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[22;2t"
	leaveModes = "\x1b[23;2t\x1b[<u\x1b[?1004l\x1b[?2004l"
)

func (a *app) begin() {
	modes := enterModes
	if a.opts.Light != nil {
		modes += key.AskBackground
	}
	a.opts.Out.Write([]byte(modes)) // a write error surfaces when the first frame is drawn
	a.show.add(&note{text: "haft " + a.opts.Version, quiet: true})
	a.draw() // before anything is read: the prompt is there at once
	if a.opts.First.Choose {
		a.chooseSession(func() {
			a.note(a.t("Nothing was resumed; this is a new conversation."))
			a.open(Opening{})
		})
	} else {
		a.open(a.opts.First)
	}
	if a.opts.Prompt != "" {
		a.submit(a.opts.Prompt)
	}
}

// end gives the terminal back.
func (a *app) end() {
	goOn := a.unsent() + a.goOn()
	a.closeTalk()
	a.dialog, a.menu = nil, nil
	a.switchScreen(false)
	a.show.finish()
	a.flushFinished()
	if err := a.screen.Leave(); a.err == nil {
		a.err = err
	}
	a.opts.Out.Write([]byte(leaveModes + goOn))
}

// read brings what is typed to the loop.
func (a *app) read(in io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			b := append([]byte(nil), buf[:n]...)
			a.later(func() { a.typed(b) })
		}
		if err != nil {
			a.later(func() { a.hangUp(err) })
			return
		}
	}
}

// typed takes in what the terminal sent.
func (a *app) typed(b []byte) {
	a.flush = nil
	a.handle(a.keys.Decode(b))
	if a.keys.Pending() {
		a.flush = time.After(escapeDelay)
	}
}

// escapeDelay is how long a lone escape may be the beginning of another key.
const escapeDelay = 30 * time.Millisecond

// frame is how long two frames are apart at least, and blink how often something
// that moves by itself is drawn.
const (
	frame = 16 * time.Millisecond
	blink = 300 * time.Millisecond
)

// loop does what comes up until the person leaves.
func (a *app) loop() {
	for !a.done {
		a.schedule()
		select {
		case f := <-a.do:
			f()
		case ev := <-a.events:
			a.take(ev)
		case size := <-a.opts.Resized:
			if a.opts.Now != nil { // a report may be older than the size that was drawn for
				size = a.opts.Now()
			}
			a.resize(size)
		case <-a.flush:
			a.flush = nil
			a.handle(a.keys.Flush())
		case <-a.wider:
			a.useMode()
		case <-a.tick:
			a.tick = nil
			a.draw()
		case <-a.ctx.Done():
			return
		}
		a.reopenIdle()
	}
}

// take shows an event, and those that wait behind it.
func (a *app) take(ev streamed) {
	for n := 0; ; n++ {
		if ev.stream == a.stream {
			a.happened(ev)
		}
		if n == 256 { // keys have a right to be heard
			return
		}
		select {
		case ev = <-a.events:
		default:
			return
		}
	}
}

// ask adds a question to those that wait.
func (a *app) ask(q *asked, c tool.Case, question tool.Verdict) {
	decide := func(v tool.Verdict) {
		q.answer <- v
		a.withdraw(q)
	}
	switch c.Call.Tool {
	case "AskUserQuestion":
		q.panel = newQuestions(c, decide)
	case "ExitPlanMode":
		q.panel = newPlan(a, c, decide)
	}
	if q.panel == nil {
		q.panel = newPermission(a, c, question, decide)
	}
	a.asks = append(a.asks, q)
	a.markAsked()
	a.nextAsk()
	a.dirty = true
}

// menuKey gives a key to the menu. It reports false if the key is not for it.
func (a *app) menuKey(k key.Key) bool {
	m := a.menu
	switch k.String() {
	case "up":
		m.at = (m.at + len(m.items) - 1) % len(m.items)
	case "down":
		m.at = (m.at + 1) % len(m.items)
	case "esc":
		a.menu = nil
	case "tab":
		a.accept()
	case "enter":
		if strings.HasPrefix(m.word, "/") {
			a.accept()
			a.enter()
			return true
		}
		if m.items[m.at].value == m.word { // it is all there
			a.menu = nil
			return false
		}
		a.accept()
	default:
		return false
	}
	return true
}

func (a *app) handle(events []key.Event) {
	for _, ev := range events {
		switch ev := ev.(type) {
		case key.Key:
			a.key(ev)
			a.lastKey = time.Now()
		case key.Paste:
			a.paste(string(ev))
			a.lastKey = time.Now()
		case key.Focus:
			a.focus(bool(ev))
		case key.Light:
			a.light = bool(ev)
			if a.light && a.opts.Light != nil && !a.themed {
				a.paint = *a.opts.Light
			}
		}
		a.dirty = true
		if a.done {
			return
		}
	}
}

// key does what a key means at this moment.
func (a *app) key(k key.Key) {
	a.hint = a.t("")
	switch {
	case a.viewer != nil:
		a.viewerKey(k)
		return
	case a.dialog != nil && a.dialogKey(k):
		return
	case a.menu != nil && a.menuKey(k):
		return
	}
	if a.write.VimKey(k) {
		return
	}
	if k == (key.Key{Rune: '?'}) && !a.write.Empty() {
		a.write.Key(k)
		return
	}
	if act := actOf(k); act != nil {
		act(a)
		return
	}
	if a.write.Key(k) {
		a.complete()
	}
}

// actOf is what a key does at the prompt; nil for one that writes or edits.
func actOf(k key.Key) func(*app) {
	name := k.String()
	for _, b := range bindings() {
		if slices.Contains(b.keys, name) {
			return b.act
		}
	}
	return nil
}

// enter sends what is written; after a backslash it begins a line.
func (a *app) enter() {
	if before := a.write.Before(); strings.HasSuffix(before, "\\") {
		a.write.Replace(1, "\n")
		return
	}
	text := strings.TrimSpace(a.write.Filled())
	if text == "" {
		return
	}
	if a.dialog.holds(text, time.Now()) {
		return
	}
	a.write.Take()
	a.write.Remember(text)
	a.opts.History.Add(text)
	a.submit(text)
}

// escape interrupts, and the second time in a row goes back to an earlier message.
func (a *app) escape() {
	again := time.Since(a.lastEsc) < twice
	a.lastEsc = time.Now()
	switch {
	case a.working != nil && a.interrupt():
	case again && a.write.Empty():
		a.lastEsc = time.Time{}
		a.rewind()
	case again:
		a.write.Remember(a.write.Take())
	case a.write.Empty():
		a.hint = a.t("esc again goes back to an earlier message")
	default:
		a.hint = a.t("esc again clears the input box; up brings the text back")
	}
}

// open begins or resumes a conversation while the person may already write.
func (a *app) open(o Opening) {
	a.closeTalk()
	a.stream++
	stream := a.stream
	a.reopens = notAgain
	clear(a.tasks) // they ended with their conversation
	clear(a.crew)
	a.talk, a.files, a.todos, a.working, a.failure = nil, nil, nil, nil, nil
	go func() {
		talk, err := a.opts.Open(a.ctx, o, person{a})
		var past []session.Entry
		var held []trust.Item
		advice := ""
		if err == nil {
			past, held = talk.Past.Said(a.ctx), talk.Rules.Held()
			if len(past) == 0 && len(talk.Input.Instructions()) == 0 {
				advice = "/init"
			}
		}
		a.later(func() {
			a.advice, a.edited = advice, false
			if o.Shown {
				past = nil
			}
			a.opened(stream, talk, past, err)
			if err == nil && o.Note != "" {
				a.show.add(&note{text: o.Note, quiet: true})
			}
			if err == nil {
				a.askTrust(held)
				a.submitPending()
			}
		})
	}()
}

func (a *app) opened(stream int, talk *Talk, past []session.Entry, err error) {
	a.dirty = true
	if err != nil {
		a.failure = err
		if a.needsModel() {
			a.setUp(true)
			return
		}
		a.show.add(&note{text: a.lang.Error(err) + "\n" + a.nowhere(), style: failure})
		return
	}
	a.talk = talk
	a.prefer()
	a.status.mode, a.status.model = talk.Rules.Mode(), talk.State.ContextUsage().Model
	a.look()
	a.measure()
	if a.status.dir == "~" && a.stream == 1 {
		a.note(a.t("This is your home folder: haft may read and, if you allow it, change everything in it. Start haft in the folder of a project."))
	}
	a.replay(past)
	a.count = counted{began: time.Now()}
	ctx, cancel := context.WithCancel(a.ctx)
	ended := make(chan struct{})
	a.release = func() <-chan struct{} {
		cancel()
		return ended
	}
	go func() {
		defer close(ended)
		for ev, err := range talk.Driver.Run(ctx) {
			select {
			case a.events <- streamed{stream: stream, ev: ev, err: err, end: ev == nil}:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// submitPending takes up what was written before it could be.
func (a *app) submitPending() {
	waiting := a.pending
	a.pending = nil
	for _, text := range waiting {
		a.submit(text)
	}
}

// closeTalk ends the conversation that is shown.
func (a *app) closeTalk() {
	talk := a.talk
	if talk == nil {
		return
	}
	a.talk = nil
	a.stream++ // what still comes is not shown
	a.asks, a.dialog, a.unguarded = nil, nil, false
	<-a.release()
	if ended := talk.Turns.Running(); ended != "" {
		a.note(a.t("Ended these background commands:") + "\n" + ended)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.ctx), 5*time.Second)
	defer cancel()
	if _, err := talk.Driver.Close(ctx); err != nil {
		a.note(a.lang.Error(err))
	}
}

// rewind goes back to an earlier message: the conversation goes on before it, its
// text is there to be changed, and files can be brought back too.
func (a *app) rewind() {
	if a.talk == nil {
		return
	}
	list := turnBacks(a.talk.Past.Said(a.ctx))
	if len(list) == 0 {
		a.hint = a.t("there is no message to go back to")
		return
	}
	restored, _ := a.talk.Past.Restored(a.ctx) // without a saved session, only the conversation goes back
	var items []pick
	for i, t := range list {
		detail := a.ago(time.Since(t.when))
		switch files := restored[t.uuid]; len(files) {
		case 0:
		case 1:
			detail += " · " + a.t("restores %s", a.short(files[0]))
		default:
			detail += " · " + a.t("restores %s", a.lang.Count(len(files), "file"))
		}
		items = append(items, pick{value: strconv.Itoa(i), text: strings.Join(strings.Fields(t.text), " "), detail: detail})
	}
	a.pop(&picker{title: a.t("Rewind to just before which message?"), items: items, choose: func(p pick) {
		a.closeOwn()
		if i, err := strconv.Atoi(p.value); err == nil {
			a.rewindTo(list[i])
		}
	}})
}

// turnBacks are the person's messages, newest first.
func turnBacks(past []session.Entry) []turnBack {
	var list []turnBack
	before := ""
	for _, e := range past {
		if text := harness.Typed(e.Message.Content); e.Message.Role == model.User && text != "" {
			list = append(list, turnBack{e.UUID, before, text, e.Time})
		}
		before = e.UUID
	}
	slices.Reverse(list)
	return list
}

// rewindTo asks what is to be taken back, if there is something besides the
// conversation.
func (a *app) rewindTo(t turnBack) {
	plan, err := a.talk.Past.PlanRewind(a.ctx, t.uuid)
	if err != nil || len(plan.Steps) == 0 {
		a.goBack(t, a.talk.Rules.Keep(), "")
		return
	}
	var body []string
	foreign := false
	for _, s := range plan.Steps {
		line := fmt.Sprintf("%s  %s  +%d −%d", answers.Action(a.lang, &s), a.short(s.Path), s.Insertions, s.Deletions)
		if s.Foreign {
			line, foreign = line+"  "+a.t("(changed by another program since)"), true
		}
		body = append(body, line)
	}
	if plan.Uncovered != "" {
		body = append(body, a.t("Not everything can be restored: %s", plan.Uncovered))
	}
	files := func() (said string, ok bool) {
		undo, err := a.talk.Past.Rewind(a.ctx, plan, false)
		if err != nil {
			a.note(a.t("Could not restore the files: %s", err))
			return "", false
		}
		return a.t("Restored %s. To undo, quit haft and run: haft rewind %s --to %s", a.lang.Count(len(plan.Steps), "file"), a.talk.State.Session(), undo), true
	}
	items := []string{a.t("Conversation and files"), a.t("Only the conversation"), a.t("Only the files"), a.t("Nothing")}
	if foreign {
		body = append(body, a.t("Another program has changed some of these files, so none can be restored here. To restore them anyway, quit haft and run: haft rewind %s --to %s --force", a.talk.State.Session(), t.uuid))
	}
	a.pop(a.whole(&choices{title: a.t("What should be rewound?"), body: body, items: items, choose: func(i int) {
		a.closeOwn()
		switch i {
		case 0:
			if said, ok := files(); ok {
				a.goBack(t, a.talk.Rules.Keep(), said)
			}
		case 1:
			kept := a.talk.Rules.Keep()
			kept.Unchanged(plan)
			a.goBack(t, kept, "")
		case 2:
			if said, ok := files(); ok {
				a.show.add(&note{text: said, quiet: true})
			}
		}
	}}))
}

// goBack continues before a message. What is said about it comes last, where it is seen.
func (a *app) goBack(t turnBack, kept *harness.Kept, said string) {
	a.write.Set(t.text)
	first, _, _ := strings.Cut(t.text, "\n")
	a.show.add(&note{text: a.t("— back to before: %s —", first), quiet: true})
	if t.before == "" {
		a.open(Opening{Kept: kept, Note: said})
		return
	}
	a.open(Opening{Resume: a.talk.State.Session(), At: t.before, Kept: kept, Note: said})
}

// resume continues an earlier session, by its id or by choosing one.
func (a *app) resume(id string) {
	if id != "" {
		a.open(Opening{Resume: id})
		return
	}
	a.chooseSession(nil)
}

// chooseSession lets the user choose one; otherwise happens when they do not.
func (a *app) chooseSession(otherwise func()) {
	ctx, cancel := context.WithCancel(a.ctx)
	p := &sessionPicker{app: a, ctx: ctx, known: map[string]*harness.Overview{}}
	p.chooses = "resumes it"
	p.close = func() {
		cancel()
		if otherwise != nil && !p.chosen {
			otherwise()
		}
	}
	p.choose = func(c pick) {
		p.chosen = true
		a.closeOwn()
		a.open(Opening{Resume: c.value})
	}
	if err := p.list(); err != nil {
		cancel()
		a.note(a.t("Could not list the sessions: %s", err))
		if otherwise != nil {
			otherwise()
		}
		return
	}
	a.pop(p)
}

// setUp asks which model answers. If one is needed and the user does not want to choose it
// now, they are told how to be asked again.
func (a *app) setUp(needed bool) {
	a.pop(a.whole(&choices{
		close: func() { a.noModel(needed) }, keys: true,
		title: a.t("Which model should answer?"), body: []string{a.t("haft tests it with one small request and saves it in ~/.haft/credentials.json, which only you can read.")},
		items: []string{a.t("Claude, with an Anthropic API key"), a.t("A model on this machine or on my own server (Ollama, llama.cpp, vLLM, LM Studio…)"), a.t("Later")},
		choose: func(i int) {
			switch i {
			case 0:
				a.setUpWith(needed, []field{{name: anthropicKey, label: a.t("API key"), help: a.t("from console.anthropic.com; it is not shown as you type"), secret: true, required: true}})
			case 1:
				a.setUpWith(needed, []field{
					{name: serverURL, label: a.t("Address"), help: a.t("address of the chat completions API"), value: "http://localhost:11434/v1", required: true},
					{name: serverModel, label: a.t("Model"), help: a.t("the name that the server uses, such as qwen3"), required: true},
					{name: serverKey, label: a.t("Key"), help: a.t("leave it empty if the server needs none"), secret: true},
				})
			default:
				a.closeOwn()
			}
		},
	}))
}

// setUpWith asks for the fields, tries them and keeps them. Esc goes back to the question
// before it.
func (a *app) setUpWith(needed bool, fields []field) {
	var f *form
	f = newForm(a.t("Which model should answer?"), nil, fields, func(values map[string]string) {
		f.problem = a.t("asking the model…")
		a.dirty = true
		go func() {
			ctx, cancel := context.WithTimeout(a.ctx, 30*time.Second)
			defer cancel()
			answer, err := a.opts.Setup.Try(ctx, values)
			if err == nil {
				err = a.opts.Setup.Keep(values)
			}
			a.later(func() { a.settled(f, answer, err) })
		}()
	})
	f.back, f.close = func() { a.setUp(needed) }, func() { a.noModel(needed) }
	a.pop(f)
}

func (a *app) settled(f *form, answer string, err error) {
	a.dirty = true
	if err != nil {
		f.again(a.t("that did not work: %s", err))
		return
	}
	f.close = nil
	a.closeOwn()
	a.show.add(&note{text: a.t("The model answered: %s", answer), quiet: true})
	if a.talk != nil {
		a.reopen()
		return
	}
	a.open(a.opts.First)
}

// submit says something: to the model, to a command, to the shell.
func (a *app) submit(text string) {
	a.menu = nil
	a.useMode()
	if slices.Contains([]string{"/exit", "/quit", "exit", "quit", ":q", ":q!", ":wq", ":x"}, text) { // what leaves other programs is no prompt
		a.done = true
		return
	}
	if a.talk == nil && a.failure != nil {
		a.submitNowhere(text)
		return
	}
	if a.talk == nil || a.unguarded {
		a.pending = append(a.pending, text)
		return
	}
	switch {
	case strings.HasPrefix(text, "!") && len(text) > 1:
		a.shell(strings.TrimSpace(text[1:]))
	case !a.ownCommand(text) && !a.keepNote(text):
		a.say(text)
	}
}

// submitNowhere takes what is typed while no conversation could be opened: commands that
// need none, and the ways to get one.
func (a *app) submitNowhere(text string) {
	ways := map[string]func(){
		"/new":   func() { a.open(Opening{}) },
		"/login": a.login,
		"/help":  func() { a.openHelp(a.t("help"), a.nowhere()+"\n\n"+a.keysHelp()) },
		"/keys":  a.showKeys,
	}
	if way, ok := ways[strings.TrimSpace(text)]; ok {
		way()
		return
	}
	if typed, ok := strings.CutPrefix(text, "/"); ok {
		name, _, _ := strings.Cut(typed, " ")
		if hint := answers.Near(a.lang, "/"+name, append(slices.Sorted(maps.Keys(ways)), "/exit"), ""); hint != "" {
			a.note(a.t("There is no command /%s.", visible.Cells(name)) + " " + hint)
			return
		}
		a.note(a.t("This needs a conversation.") + " " + a.nowhere())
		return
	}
	why := a.t("No model is set up yet; your prompt is kept until one is.")
	if !a.needsModel() {
		why = a.t("Could not open a conversation. Your prompt is kept until that works. The reason:") + "\n" + a.lang.Error(a.failure)
	}
	a.note(why + "\n" + a.nowhere())
	a.pending = append(a.pending, text)
}

// login asks which model answers, and opens the conversation again with it.
func (a *app) login() {
	if a.opts.Setup == nil {
		a.note(a.t("Set ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_MODEL, and restart haft."))
		return
	}
	a.setUp(false)
}

// ownCommand carries out a command that is about this screen, and reports whether it was one.
func (a *app) ownCommand(text string) bool {
	typed, ok := strings.CutPrefix(text, "/")
	name, args, _ := strings.Cut(typed, " ")
	own := a.commands()[name]
	if !ok || own == nil {
		return false
	}
	own(strings.TrimSpace(args))
	return true
}

// commands are those of haft that this screen carries out.
func (a *app) commands() map[string]func(args string) {
	return map[string]func(string){
		"help":   func(string) { a.help() },
		"resume": a.resume,
		"rewind": func(string) { a.rewind() },
		"model":  a.chooseModel,
		"tasks":  func(string) { a.listTasks() },
		"keys":   func(string) { a.showKeys() },
		"login":  func(string) { a.login() },
		"memory": a.memory,
		"config": a.config,
		"copy":   a.copyAnswer,
		"export": a.export,
		"mcp":    a.mcp,
		"theme":  a.theme,
		"vim":    a.vim,

		"terminal-setup": func(string) { a.show.add(&note{text: a.terminalSetup(os.Getenv), quiet: true}) },

		"permissions": a.permissions,
		"new":         func(string) { a.open(Opening{}) },
	}
}

// askTrust asks about what the folder brings and nobody has agreed to. Until
// somebody does, nothing of it counts, so that the question can wait: unless there are
// hooks in it that guard the folder, without which nothing is begun.
func (a *app) askTrust(items []trust.Item) {
	items = slices.DeleteFunc(slices.Clone(items), func(i trust.Item) bool { return a.declined[declinedKey(i)] })
	if len(items) == 0 {
		return
	}
	var body, all []string
	for _, i := range items {
		line := strings.Join(strings.Fields(strings.ReplaceAll(i.String(), a.talk.Turns.Dir()+"/", "")), " ")
		body, all = append(body, line), append(all, "── "+line)
		if text := strings.TrimSpace(i.Text); text != i.Name {
			all = append(all, text)
		}
		all = append(all, "")
	}
	q := &asked{}
	title, without := a.t("This folder contains %s that would run commands, connect to servers or change permissions:", a.lang.Count(len(items), "item")), a.t("Not now: nothing listed here is used")
	if a.unguarded = slices.ContainsFunc(items, func(i trust.Item) bool { return i.Guards }); a.unguarded {
		title = a.t("This folder contains %s, including hooks that guard it. Your prompts wait for your answer:", a.lang.Count(len(items), "item"))
		without = a.t("Continue without its hooks: nothing listed here is used")
	}
	c := &choices{
		title: title,
		body:  body, items: []string{without, a.t("Trust everything listed here, exactly as it is now")},
		full: func() { a.openText(a.t("what this folder contains"), strings.Join(all, "\n")) },
	}
	c.choose = func(i int) {
		a.withdraw(q)
		if i == 1 {
			a.trust(items)
			return
		}
		for _, i := range items {
			a.declined[declinedKey(i)] = true
		}
		a.unguarded = false
		a.submitPending()
	}
	q.panel = c
	a.asks = append(a.asks, q)
	a.nextAsk()
}

// trust keeps that the user agreed, and opens the conversation again with what
// counts now: hooks, servers and rules are those of a conversation from its beginning.
func (a *app) trust(items []trust.Item) {
	if err := a.talk.Rules.Trust(a.ctx, items); err != nil {
		a.note(a.lang.Error(err))
		return
	}
	said := a.t("Trusted. To revoke it: 'haft trust --revoke --all'.")
	if !a.idle() {
		said = a.t("Trusted. It takes effect when the running turn and background work have ended; nothing is stopped. To revoke it: 'haft trust --revoke --all'.")
	}
	a.show.add(&note{text: said, quiet: true})
	a.reopen()
}

// reopen has the conversation opened again, once nothing is lost by it.
func (a *app) reopen() {
	a.reopens = atOnce
	if !a.idle() {
		a.reopens = whenIdle
	}
}

// reopenIdle opens the conversation again if that is due.
func (a *app) reopenIdle() {
	if a.reopens == notAgain || a.talk == nil || a.dialog != nil || !a.idle() {
		return
	}
	if a.reopens == whenIdle {
		a.show.add(&note{text: a.t("The new settings are in use now."), quiet: true})
	}
	a.open(a.again())
}

// declinedKey names an item as it is: if the folder changes it, the user is asked again.
func declinedKey(i trust.Item) string { return strings.Join([]string{i.String(), i.Text}, "\x00") }

// reopening says whether the conversation is to be opened again.
type reopening int

const (
	notAgain reopening = iota
	atOnce
	whenIdle // something runs that must not end with it
)
