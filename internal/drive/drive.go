// Package drive drives a conversation for a front end: it takes what the user says, carries
// out commands, adds the files and images that are mentioned, and runs the turns. Every front
// end has a Driver, so the same input has the same effect and the same words in all of them.
//
//	d := drive.New(&drive.Options{Lang: words})
//	talk, err := world.Talk(ctx, &harness.TalkOptions{Driver: d})
//	d.Begin(talk)
//	d.Say(drive.Message{Prompt: agent.Typed("/review main.go")})
//	d.Finish()
//	for ev, err := range d.Run(ctx) { … }
//	notices, err := d.Close(ctx)
//
// What a command answers without the model is a [CommandDone] among the events. A Driver is safe
// for concurrent use; one goroutine at a time may range over Run.
package drive

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/harness/slash"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

// Options say how a front end differs from others. Nil means all zero values.
type Options struct {
	// Lang is the language of the answers to commands; nil is English.
	Lang *lang.Catalogue
	// Terminal says that a user types what is said, so that commands may change saved files.
	// Otherwise it may be another program's text.
	Terminal bool
	// Beside says that answers can be shown while a turn runs and that more can be said at any
	// time: commands do not wait for the end of a turn, and Run does not end by itself.
	Beside bool
	// NoCommands takes everything that begins with a slash as text.
	NoCommands bool
	// OneSession says that others look for the session under its id: /clear, which begins
	// another one, is refused.
	OneSession bool
	// Refuse returns why one of haft's own commands must not be used here; nil refuses none.
	Refuse func(name, arguments string) error
	// OneAnswer ends Run when the first turn or command is done, and then waits only for the
	// agents that work on it.
	OneAnswer bool
}

// A Message is what a user says.
type Message struct {
	agent.Prompt
	// Literal says that a program has composed the message: nothing in it is a command or a
	// mention.
	Literal bool
	// Text is what was typed, where Content has other texts as well; "" means the only text
	// in Content.
	Text string
	// Images are the files of images that belong to the message.
	Images []string

	watcher bool // someone who watches the conversation says it
}

// typed is what the user typed in a message.
func (m Message) typed() string {
	if m.Text != "" {
		return m.Text
	}
	only := ""
	for _, b := range m.Content {
		if b.Type == model.Text && b.Raw == nil {
			if only != "" {
				return ""
			}
			only = b.Text
		}
	}
	return only
}

// CommandDone is an event: a command was carried out without the model, or could not be. Err is
// [ErrStopped] if the user stopped it.
type CommandDone struct {
	agent.Notice // an event; one without a text is not shown

	Prompt        agent.Prompt
	Command, Text string
	Err           error
}

// A Driver drives one conversation.
type Driver struct {
	opts  Options
	words atomic.Pointer[lang.Catalogue]
	news  chan struct{} // holds a token when there may be something to do

	mu       sync.Mutex
	talk     *harness.Conversation // nil before Begin
	waiting  []Message             // said before Begin
	typed    []Message             // commands and mentions that are not carried out, and what was said after them
	stop     context.CancelFunc    // stops the first of typed; nil if it has not begun
	handed   bool                  // the first of typed is answered, or the agent's
	finished bool                  // nothing more will be said
	closing  bool                  // no more turns are wanted
	told     bool                  // a turn or a command is done
	running  bool                  // Run reads what happens in the agent
	release  func()                // lets the agent's Run end
}

// New returns a driver of a conversation that Begin gives it.
func New(o *Options) *Driver {
	d := &Driver{news: make(chan struct{}, 1), release: func() {}}
	if o != nil {
		d.opts = *o
	}
	d.words.Store(d.opts.Lang)
	return d
}

// Begin gives the driver its conversation, and the conversation what was said before.
func (d *Driver) Begin(talk *harness.Conversation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.talk = talk
	if d.opts.Beside {
		d.release = talk.Agent.Hold()
	}
	for _, m := range d.waiting {
		d.accept(m)
	}
	if len(d.waiting) > 0 {
		d.Wake()
	}
	d.waiting = nil
}

// Say takes a message. It joins the turn that runs, if it is not a command.
func (d *Driver) Say(m Message) {
	if m.UUID == "" {
		m.UUID = session.NewUUID()
	}
	d.mu.Lock()
	talk := d.talk
	if talk == nil {
		d.waiting = append(d.waiting, m)
	} else {
		d.accept(m)
	}
	d.mu.Unlock()
	d.reconsider(talk)
}

// SayFirst takes a message that comes before those that wait for Begin.
func (d *Driver) SayFirst(m Message) {
	m.UUID = session.NewUUID()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = slices.Insert(d.waiting, 0, m)
}

// Prompt takes a message of someone who watches the conversation; see [harness.Driver].
func (d *Driver) Prompt(p agent.Prompt) { d.Say(Message{Prompt: p, watcher: true}) }

// accept gives a message to the agent, or keeps it until the commands and mentions before it
// are carried out, so that nothing overtakes them. d.mu is held.
func (d *Driver) accept(m Message) {
	if len(d.typed) > 0 || d.readable(m) {
		d.typed = append(d.typed, m)
		return
	}
	d.talk.Send(m.Prompt)
}

// Finish says that nothing more will be said: Run ends when everything is done.
func (d *Driver) Finish() {
	d.mu.Lock()
	d.finished = true
	talk, release := d.talk, d.release
	d.mu.Unlock()
	release()
	d.reconsider(talk)
}

// Leave ends Run once what was said is done, without waiting for background tasks.
func (d *Driver) Leave() {
	d.mu.Lock()
	d.closing = true
	talk, release := d.talk, d.release
	d.mu.Unlock()
	release()
	d.reconsider(talk)
}

// Stop stops what runs, takes back what was said, and ends Run.
func (d *Driver) Stop() {
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.TakeBack(math.MaxInt)
	d.Interrupt()
	d.Leave()
}

// reconsider makes Run look again at what there is to do.
func (d *Driver) reconsider(talk *harness.Conversation) {
	if talk != nil {
		talk.Agent.Reconsider()
	}
	d.Wake()
}

// Wake makes Run look for what has happened while nothing ran.
func (d *Driver) Wake() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// Interrupt stops the turn or the command that runs, as the user wants, and reports whether
// there was one. What is queued is next.
func (d *Driver) Interrupt() bool {
	d.mu.Lock()
	talk, stop := d.talk, d.stop
	d.mu.Unlock()
	if stop != nil {
		stop()
	}
	return talk != nil && talk.Agent.Interrupt("") || stop != nil
}

// Queued returns what waits for a turn, in order.
func (d *Driver) Queued() []agent.Prompt {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []agent.Prompt
	if d.talk != nil {
		list = d.talk.Agent.Queued()
	}
	for _, m := range slices.Concat(d.notBegun(), d.waiting) {
		list = append(list, m.Prompt)
	}
	return list
}

// notBegun is the part of typed that can be taken back. d.mu is held.
func (d *Driver) notBegun() []Message {
	if d.stop != nil {
		return d.typed[1:]
	}
	return d.typed
}

// Busy reports whether anything runs or is queued.
func (d *Driver) Busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	mine := len(d.typed) + len(d.waiting)
	if d.handed {
		mine--
	}
	return mine > 0 || d.talk != nil && d.talk.Agent.Busy()
}

// Withdraw takes back a message that has not begun, and reports whether it had not.
func (d *Driver) Withdraw(uuid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.talk != nil && d.talk.Agent.Withdraw(uuid) {
		return true
	}
	is := func(m Message) bool { return m.UUID == uuid }
	if at := slices.IndexFunc(d.notBegun(), is); at >= 0 {
		at += len(d.typed) - len(d.notBegun())
		d.typed = slices.Delete(slices.Clone(d.typed), at, at+1)
		return true
	}
	before := len(d.waiting)
	d.waiting = slices.DeleteFunc(d.waiting, is)
	return len(d.waiting) < before
}

// TakeBack takes back at most n messages of the user that have not begun, the newest, and
// returns them, oldest first.
func (d *Driver) TakeBack(n int) []agent.Prompt {
	var taken []agent.Prompt
	for _, p := range slices.Backward(d.Queued()) {
		if p.Origin == "" && !p.Silent && len(taken) < n && d.Withdraw(p.UUID) {
			taken = append(taken, p)
		}
	}
	slices.Reverse(taken)
	return taken
}

// SetModel changes the model, given by its name or an alias, from the next request on, and
// returns its full name.
func (d *Driver) SetModel(name string) string {
	talk := d.Conversation()
	full := talk.Resolve(name)
	talk.Agent.SetModel(full)
	return full
}

// Speak changes the language of answers to commands.
func (d *Driver) Speak(words *lang.Catalogue) { d.words.Store(words) }

// SetMode changes the permission mode at once.
func (d *Driver) SetMode(mode string) error { return d.Conversation().Agent.SetMode(mode) }

// Conversation is what is driven; nil before Begin.
func (d *Driver) Conversation() *harness.Conversation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.talk
}

// CatchUp waits until the reader of Run has read what happened so far, so that a user who is
// asked has seen what the question is about.
func (d *Driver) CatchUp(ctx context.Context) {
	d.mu.Lock()
	talk, running := d.talk, d.running
	d.mu.Unlock()
	if running {
		talk.CatchUp(ctx, d.Wake)
	}
}

// Settle is CatchUp also while nothing runs.
func (d *Driver) Settle(ctx context.Context) {
	if talk := d.Conversation(); talk != nil {
		talk.CatchUp(ctx, d.Wake)
	}
}

// Run takes turns, and carries out commands, until everything is done after Finish, Leave or
// Stop, or the one answer is there, or ctx ends. It returns what happens. An error is that of
// the agent's Run; the turn that it ended has had its result.
func (d *Driver) Run(ctx context.Context) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		if d.opts.Beside {
			ctx, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				d.beside(ctx)
			}()
			defer func() {
				cancel()
				<-ended
			}()
			d.turns(ctx, yield)
			return
		}
		for {
			last := d.isLast()
			if !d.work(ctx, yield) || last || d.done() {
				return
			}
			select {
			case <-d.news:
			case <-ctx.Done():
				return
			}
		}
	}
}

// beside carries out commands while turns run.
func (d *Driver) beside(ctx context.Context) {
	for {
		for d.next(ctx) && ctx.Err() == nil {
		}
		select {
		case <-d.news:
		case <-ctx.Done():
			return
		}
	}
}

// work runs the queued turns and the commands between them, and reports whether the reader of
// the events wants to read on.
func (d *Driver) work(ctx context.Context, yield func(agent.Event, error) bool) bool {
	if d.Conversation() == nil {
		return true
	}
	for d.turns(ctx, yield) {
		if ctx.Err() != nil {
			return false
		}
		if !d.next(ctx) {
			return true
		}
	}
	return false
}

// turns runs the queued turns, and reports whether the reader wants to read on.
func (d *Driver) turns(ctx context.Context, yield func(agent.Event, error) bool) bool {
	talk := d.Conversation()
	d.setRunning(true)
	defer d.setRunning(false)
	for ev, err := range talk.RunAwaiting(ctx, d.awaits) {
		if m, ok := ev.(harness.Mark); ok {
			m.Reached()
			continue
		}
		d.note(ev)
		if !yield(ev, err) || err != nil {
			return false
		}
		if r, ok := ev.(agent.Result); ok && r.Reason == agent.TakenOver {
			d.takenOver(talk)
			return false
		}
	}
	return true
}

// note remembers that something is done.
func (d *Driver) note(ev agent.Event) {
	switch ev.(type) {
	case agent.Result, CommandDone:
		d.mu.Lock()
		d.told = true
		d.mu.Unlock()
	}
}

// takenOver ends the session here: what is queued is for the process that continues it.
func (d *Driver) takenOver(talk *harness.Conversation) {
	d.mu.Lock()
	d.closing, d.typed = true, nil
	d.mu.Unlock()
	for _, p := range talk.Agent.Queued() {
		talk.Agent.Withdraw(p.UUID)
	}
}

// awaits reports whether to wait for a background task. There is no need to when the session
// is about to end, or when a command waits that is not part of a turn. A session with one
// answer waits for the agents that work on it, and for nothing else.
func (d *Driver) awaits(k agent.Task) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.closing && (d.opts.Beside || len(d.typed) == 0) && (!d.opts.OneAnswer || k.Type == "local_agent")
}

func (d *Driver) setRunning(running bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = running
}

// Ending reports whether no more turns are wanted, since Leave or Stop.
func (d *Driver) Ending() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closing
}

// isLast reports whether nothing more will be said.
func (d *Driver) isLast() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.finished
}

// done reports whether no turn will follow.
func (d *Driver) done() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	closing := d.closing || d.opts.OneAnswer && d.told
	return closing && (d.talk == nil || len(d.talk.Agent.Queued()) == 0 && len(d.typed) == 0)
}

// Close ends the conversation and everything it has started, and returns what the user should
// know about the end. Run must have ended.
func (d *Driver) Close(ctx context.Context) (last []agent.Notice, err error) {
	talk := d.Conversation()
	if talk == nil {
		return nil, nil
	}
	err = talk.Close(ctx)
	for _, ev := range talk.Agent.Unread() {
		if n, ok := ev.(agent.Notice); ok {
			last = append(last, n)
		}
	}
	return last, err
}

// readable reports whether a message has a command or mentions something. d.mu is held.
func (d *Driver) readable(m Message) bool {
	if m.Literal {
		return false
	}
	text, in := m.typed(), d.talk.Input()
	return len(m.Images) > 0 || d.commandIn(m) >= 0 || isImage(d.path(text)) || in.Mentions(text) || len(in.Missing(text)) > 0
}

// commandIn returns which block of a message is a command, -1 for none. Programs send what
// belongs to it, such as images and context, in blocks of their own, so the last command that
// stands for a prompt counts. Other commands count only as the text that was typed.
func (d *Driver) commandIn(m Message) int {
	if d.opts.NoCommands {
		return -1
	}
	typed, in := m.typed(), d.talk.Input()
	for i, b := range slices.Backward(m.Content) {
		if b.Type == model.Text && (in.IsPrompt(b.Text) || b.Text == typed && d.looksLikeCommand(in, typed)) {
			return i
		}
	}
	return -1
}

// looksLikeCommand reports whether a text is a command, or was meant as one: a text that
// begins with a path is not.
func (d *Driver) looksLikeCommand(in *slash.Input, text string) bool {
	name, _, ok := command.Line(text)
	if !ok || in.IsCommand(text) {
		return ok
	}
	if _, err := os.Lstat("/" + name); err == nil {
		return false
	}
	return commandName.MatchString(name)
}

// next carries out the first of what was typed and reports whether there was something. It
// stays the first until then, so that nothing overtakes it.
func (d *Driver) next(ctx context.Context) bool {
	d.mu.Lock()
	if len(d.typed) == 0 || d.talk == nil {
		d.mu.Unlock()
		return false
	}
	m := d.typed[0]
	ctx, d.stop = context.WithCancel(ctx)
	defer d.stop()
	d.mu.Unlock()
	d.carryOut(ctx, m)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop, d.handed = nil, false
	if len(d.typed) > 0 { // otherwise another process has taken the session over
		d.typed = d.typed[1:]
	}
	return true
}

// carryOut carries out a command, or sends what it stands for to the model.
func (d *Driver) carryOut(ctx context.Context, m Message) {
	at := -1
	if !m.Literal {
		at = d.commandIn(m)
	}
	if at < 0 {
		d.send(ctx, d.complete(ctx, m))
		return
	}
	said := m.Content[at].Text
	t, ok, err := d.talk.Input().Read(ctx, said)
	name := t.Command.Name
	switch {
	case ctx.Err() != nil:
		d.answer(m, name, "", ErrStopped)
	case err != nil:
		d.answer(m, name, "", errors.New(d.words.Load().T("could not run /%s: %s", name, d.words.Load().Error(err))))
	case !ok:
		d.unknown(m, said)
	case t.Text != "":
		m.Content = slices.Clone(m.Content)
		m.Content[at] = model.TextOf(t.Text)
		m.Said, m.Change, m.Answer = said, t.Change, t.Answer
		d.send(ctx, d.withImages(ctx, m))
	default:
		d.builtin(m, name, t.Arguments)
	}
}

// builtin carries out one of haft's own commands.
func (d *Driver) builtin(m Message, name, arguments string) {
	if d.opts.Refuse != nil {
		if err := d.opts.Refuse(name, arguments); err != nil {
			d.answer(m, name, "", err)
			return
		}
	}
	switch {
	case name == "compact":
		d.hand(func() { d.talk.Agent.CompactAs(m.UUID, arguments) })
	case name == "clear" && d.opts.OneSession:
		d.answer(m, name, "", errors.New(d.words.Load().T("/clear is not available here: start a new session instead.")))
	case name == "clear":
		d.hand(func() { d.talk.Agent.ClearAs(m.UUID) })
	default:
		run := answers.Run
		if d.opts.Terminal && !m.watcher {
			run = answers.AtTerminal
		}
		text, ok, err := run(d.talk, d.words.Load(), name, arguments)
		if !ok {
			err = d.needsScreen(name)
		}
		d.answer(m, name, text, err)
	}
}

// unknown answers a command that does not exist. It is not sent to the model, which would
// cost money and do something else.
func (d *Driver) unknown(m Message, said string) {
	name, _, _ := command.Line(said)
	var names []string
	for _, c := range slices.Concat(d.talk.Input().Commands.List().Commands, ScreenCommands()) {
		if c.Name == name {
			d.answer(m, name, "", d.needsScreen(name))
			return
		}
		names = append(names, "/"+c.Name)
	}
	words := d.words.Load()
	d.answer(m, name, "", errors.New(words.T("There is no command /%s.", visible.Indented(name))+" "+answers.Near(words, "/"+name, names, "/help lists them.")))
}

func (d *Driver) needsScreen(name string) error {
	return errors.New(d.words.Load().T("/%s needs a screen; it has no effect here.", name))
}

// answer reports what came of a command.
func (d *Driver) answer(m Message, name, text string, err error) {
	d.hand(func() { d.talk.Agent.Emit(CommandDone{Prompt: m.Prompt, Command: name, Text: text, Err: err}) })
}

// hand gives the agent what came of the message that is carried out. Whoever reads of it finds
// that the driver is not busy with the message any more: nothing else would tell them.
func (d *Driver) hand(give func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handed = true
	give()
}

// warn tells the user what is wrong with a message that is sent nevertheless.
func (d *Driver) warn(text string) {
	d.talk.Agent.Emit(agent.Notice{Level: "warning", Tag: "prompt", Text: text})
}

// send gives a message to the model, if it is still wanted.
func (d *Driver) send(ctx context.Context, m Message) {
	if ctx.Err() != nil {
		d.answer(m, "", "", ErrStopped)
		return
	}
	d.hand(func() { d.talk.Send(m.Prompt) })
}

// complete adds the files, folders and images that a message mentions, if the model may read
// them, and says which are missing.
func (d *Driver) complete(ctx context.Context, m Message) Message {
	text := m.typed()
	for _, name := range d.talk.Input().Missing(text) {
		d.warn(d.words.Load().T("There is no file @%s here; it is sent as text.", visible.Indented(name)))
	}
	p, err := d.talk.WithFiles(ctx, m.Prompt, text)
	if err != nil && ctx.Err() == nil {
		d.warn(d.words.Load().Error(err))
	}
	if len(p.Content) > len(m.Content) {
		p.Said = text
	}
	m.Prompt = p
	if path := d.path(text); isImage(path) {
		m.Images = append(slices.Clip(m.Images), path)
	}
	return d.withImages(ctx, m)
}

// withImages adds the images of a message.
func (d *Driver) withImages(ctx context.Context, m Message) Message {
	for _, path := range m.Images {
		blocks, err := d.talk.ReadMedia(ctx, path)
		if err != nil {
			d.warn(d.words.Load().T("Could not read the image: %s", err))
			continue
		}
		if m.Said == "" {
			m.Said = m.typed()
		}
		m.Content = append(slices.Clip(m.Content), blocks...)
	}
	return m
}

// path is the file that a text names if it is nothing but a path.
func (d *Driver) path(text string) string {
	path := strings.Trim(strings.TrimSpace(text), `'"`)
	if path == "" || len(path) > 4096 || strings.Contains(path, "\n") {
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.talk.Dir(), path)
	}
	return path
}
