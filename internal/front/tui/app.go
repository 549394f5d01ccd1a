package tui

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/front/tui/screen"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
)

// Options are what a person sits in front of.
type Options struct {
	// In brings what is typed, Out is the terminal.
	In  io.Reader
	Out io.Writer
	// Size is that of the terminal; Resized brings new ones, nil none.
	Size    Size
	Resized <-chan Size
	// Now asks for the size before each frame: one that is laid out for the size before would
	// be broken into other rows than it is thought to have, and leave some of them behind. Nil
	// relies on Resized, which comes later.
	Now func() Size
	// Palette is how things look, Light how they do if the terminal says that its
	// background is a light one; nil does not ask it.
	Palette style.Palette
	Light   *style.Palette
	// Open begins or resumes a conversation. Calls that the rules leave open are
	// asked about through person.
	Open func(ctx context.Context, o Opening, person Person) (*Talk, error)
	// Sessions are those that can be resumed.
	Sessions Sessions
	// Setup lets the person say which model answers; nil means that they cannot.
	Setup Setup
	// First is the conversation to begin with, Prompt what is said first; "" waits
	// for the person.
	First  Opening
	Prompt string
	// History has what was written before; nil has nothing and keeps nothing.
	History History
	// Edit lets the person change a text in an editor; nil means that there is none.
	// The terminal is the editor's until it returns.
	Edit func(text string) (string, error)
	// EditFile does the same with a file.
	EditFile func(path string) error
	// Login logs in to an MCP server; show is given the page to log in at. Nil means that
	// nobody can.
	Login func(ctx context.Context, server string, show func(page string)) error
	// Clipboard is that of the desktop; nil means that there is none.
	Clipboard Clipboard
	// Suspend stops the process until its shell lets it go on; nil means that it
	// cannot be. The terminal is the shell's until it returns.
	Suspend func() error
	// Alternate says that the terminal has an alternate screen: see [HasAlternate].
	Alternate bool
	// Title names the terminal's window while haft runs.
	Title bool
	// Lang has the messages, nil those in English. FixedLang says that the settings do not
	// choose another.
	Lang      *lang.Catalogue
	FixedLang bool
	// FixedTheme says that the settings do not choose other colours.
	FixedTheme bool
	// Version is shown at the beginning.
	Version string
	// ToolsOn is the machine where the tools run, and ToolsDir their folder there; "" means that
	// they run here.
	ToolsOn, ToolsDir string
}

// Size is that of a terminal.
type Size struct{ Width, Height int }

// An Opening says which conversation.
type Opening struct {
	// Resume is the session to go on with, At the message to go on after; "" means
	// a new one, or the end. Continue goes on with the newest one of the folder.
	Resume, At string
	Continue   bool
	// Choose lets the user choose a session first.
	Choose bool
	// Kept is what the conversation before it passes on; nil means nothing.
	Kept *harness.Kept
	// Shown says that what was said is on the screen already.
	Shown bool
	// Note is what the user is told after what was said; "" for nothing.
	Note string
}

// An app is haft on a terminal.
type app struct {
	opts   Options
	ctx    context.Context
	paint  style.Palette
	lang   *lang.Catalogue
	screen *screen.Screen
	keys   key.Decoder
	write  *composer.Composer
	do     chan func() // what other goroutines want done in this one

	talk    *Talk
	release func() <-chan struct{} // ends the conversation's stream, and tells when it has ended
	stream  int                    // which one is shown: events of an older one are dropped
	events  chan streamed
	images  []string // that marks in what is written stand for, by their numbers from 1
	pending []string // written before there was a conversation
	failure error    // why no conversation could be opened; nil for no reason
	// reopens says that the conversation is opened again once nothing runs in it.
	reopens reopening
	// commandsRun are those that the user runs, with what stops them.
	commandsRun map[*call]context.CancelFunc
	// unguarded says that hooks which guard the folder do not run, and the user has
	// not decided about that yet: nothing is begun.
	unguarded bool
	// declined is what the folder brings and the user did not want to trust: they are asked
	// once.
	declined map[string]bool

	apart    bool     // the alternate screen is shown
	recent   []string // what went into the scrollback last, as many lines as a screen has
	show     transcript
	status   status
	working  *working // nil between turns
	todos    []todo
	todoView todoView
	tasks    map[string]agent.Task // what runs in the background
	crew     map[string]agent.Task // all that was told of, agents in the foreground as well

	asks   []*asked // that wait, the first is shown
	dialog *dialog  // nil for none
	menu   *menu    // completion
	files  *fileList

	stopLooking context.CancelFunc // for completions that were asked for; nil for none
	lastKey     time.Time
	lastEsc     time.Time
	lastStop    time.Time // ctrl+c on an empty composer
	noted       bool      // the question about a note was answered
	title       string    // of the terminal's window, as it was written last
	edited      bool      // the last turn changed files
	advice      string    // what may be said next; "" for nothing
	hint        string    // in place of the status line, until the next key
	viewer      *viewer   // nil for none
	records     []record  // what it shows

	light     bool // the terminal says that its background is light
	themed    bool // the user has chosen the colours
	preferred bool // what the settings say about the screen was taken over
	custom    statusLine

	dirty  bool
	drawn  time.Time
	flush  <-chan time.Time // when a lone escape is a key
	tick   <-chan time.Time // when to draw next, at due
	due    time.Time
	frames frameCount
	done   bool
	err    error
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
	a := &app{
		opts: *o, ctx: ctx, paint: o.Palette, lang: o.Lang, screen: screen.New(o.Out, o.Size.Width, o.Size.Height),
		do: make(chan func()), events: make(chan streamed), tasks: map[string]agent.Task{}, crew: map[string]agent.Task{}, commandsRun: map[*call]context.CancelFunc{}, declined: map[string]bool{}, dirty: true,
	}
	if a.opts.History == nil {
		a.opts.History = noHistory{}
	}
	a.write = composer.New(a.opts.History.Load())
	return a
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
	a.opts.Out.Write([]byte(modes)) // a terminal that is gone is seen at the first frame
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

// flushFinished puts everything into the scrollback, at the end.
func (a *app) flushFinished() {
	if lines := a.show.finished(a.view()); len(lines) > 0 {
		a.screen.Draw(lines, nil, screen.Cursor{}) // it is the last frame: nobody hears of an error
	}
}

// unsent tells of the prompts that were waiting and are not sent.
func (a *app) unsent() string {
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
func (a *app) goOn() string {
	if a.talk == nil || len(a.talk.Past.Said(a.ctx)) == 0 {
		return ""
	}
	return a.paint.Dim.Of(a.t("To continue: haft --resume %s", a.talk.State.Session())) + "\r\n"
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

// hangUp ends the session when nothing more can be typed.
func (a *app) hangUp(err error) {
	if !errors.Is(err, io.EOF) {
		a.err = err
	}
	a.done = true
}

// t is a message in the user's language.
func (a *app) t(text lang.Text, args ...any) string { return a.lang.T(text, args...) }

// later has something done in the goroutine of the app.
func (a *app) later(f func()) {
	select {
	case a.do <- f:
	case <-a.ctx.Done():
	}
}

// frame is how long two frames are apart at least, and blink how often something
// that moves by itself is drawn.
const (
	frame = 16 * time.Millisecond
	blink = 120 * time.Millisecond
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
		case <-a.tick:
			a.tick = nil
			a.draw()
		case <-a.ctx.Done():
			return
		}
		a.reopenIdle()
	}
}

// schedule says when to draw next: soon if something has changed, now and then if
// something moves by itself, never otherwise.
func (a *app) schedule() {
	var due time.Time
	switch {
	case a.dirty:
		due = a.drawn.Add(frame)
	case a.working != nil && !a.still():
		due = a.drawn.Add(blink)
	default:
		return
	}
	if a.tick == nil || due.Before(a.due) {
		a.due = due
		a.tick = time.After(time.Until(due))
	}
}

// still reports whether nothing moves because all that goes on waits for the
// person.
func (a *app) still() bool {
	if !a.waits() {
		return false
	}
	for _, c := range a.working.calls {
		if c.started && !c.waits && !c.asks {
			return false
		}
	}
	return true
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

func (a *app) resize(s Size) {
	a.screen.Resize(s.Width, s.Height)
	if a.apart { // terminals differ in what they cut off, and in where that leaves the cursor
		a.opts.Out.Write([]byte("\x1b[H")) // an error is seen at the next frame
		a.screen.Forget()
	}
	a.show.resize(a.view())
	a.dirty = true
}
