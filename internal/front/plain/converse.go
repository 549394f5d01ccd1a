package plain

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/knowledge/command"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/model"
)

// ConverseOptions are what a user sits in front of.
type ConverseOptions struct {
	// In brings what is typed, line by line; Out is where everything goes.
	In  io.Reader
	Out io.Writer
	// Show is how the conversation is shown; nil means all zero values.
	Show *Options
	// Open opens the conversation; what the rules leave open is asked through
	// person.
	Open func(ctx context.Context, person *Person) (*harness.Conversation, error)
	// Prompt is what is said first; "" waits for the user.
	Prompt string
	// Interrupts stop the turn that runs, or end the conversation between turns; nil
	// has none.
	Interrupts <-chan struct{}
}

// Converse talks line by line until the input ends, the user says /exit, or ctx
// ends. A line that ends in a backslash continues in the next.
func Converse(ctx context.Context, o *ConverseOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &lines{w: o.Out}
	c := &conversation{opts: *o, out: out, said: make(chan string, 64), idle: true}
	c.person = &Person{out: out, words: c.words(), grants: true}
	var err error
	if c.talk, err = o.Open(ctx, c.person); err != nil {
		return err
	}
	release := c.talk.Agent.Hold()
	defer c.close(context.WithoutCancel(ctx))
	defer release()
	fmt.Fprintf(out, "%s\n", c.words().T("haft. Type what you want done; /help lists commands, /exit quits. End a line with \\ to continue on the next."))
	go c.read(ctx, o.In)
	return c.run(ctx)
}

// words are the messages in the user's language.
func (c *conversation) words() *lang.Catalogue {
	if c.opts.Show == nil {
		return nil
	}
	return c.opts.Show.Lang
}

// close ends the conversation and shows what its end brought. A journal that cannot
// be closed is told of by the next start.
func (c *conversation) close(ctx context.Context) {
	_ = c.talk.Close(ctx)
	show := New(c.out, c.opts.Show)
	for _, ev := range c.talk.Agent.Unread() {
		if _, ok := ev.(agent.Notice); ok {
			_ = show.Show(ev) // nobody is left to be told
		}
	}
}

// A conversation is one that is led line by line.
type conversation struct {
	opts   ConverseOptions
	talk   *harness.Conversation
	out    *lines
	person *Person
	said   chan string // closed when the input has ended
	idle   bool        // no turn runs
}

// lines is a writer that several goroutines may write whole lines to.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes p in one piece.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// read hands out what is typed: to the question that is asked, or to the
// conversation.
func (c *conversation) read(ctx context.Context, in io.Reader) {
	defer close(c.said)
	defer c.person.HangUp()
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 16<<20)
	whole := ""
	for scan.Scan() {
		line := scan.Text()
		if c.person.Hear(line) {
			continue
		}
		if begin, ok := strings.CutSuffix(line, "\\"); ok {
			whole += begin + "\n"
			continue
		}
		select {
		case c.said <- whole + line:
		case <-ctx.Done():
			return
		}
		whole = ""
	}
}

// run shows what happens and takes in what is said.
func (c *conversation) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	events, failed, gone := c.listen(ctx)
	defer func() {
		stop()
		<-gone // the conversation is closed when nothing runs in it
	}()
	show := New(c.out, c.opts.Show)
	if c.opts.Prompt != "" {
		c.say(ctx, c.opts.Prompt)
	} else {
		c.ready()
	}
	ended := false
	for {
		said := c.said
		if ended {
			said = nil
		}
		select {
		case ev := <-events:
			if _, asked := ev.(agent.Waiting); asked {
				continue // the question itself is shown
			}
			if err := show.Show(ev); err != nil {
				return err
			}
			if c.follow(ev) && ended {
				return nil
			}
		case text, ok := <-said:
			if ended = !ok; ended && c.idle {
				return nil
			}
			if ok && c.say(ctx, strings.TrimSpace(text)) {
				return nil
			}
		case <-c.opts.Interrupts:
			if !c.talk.Agent.Interrupt("") {
				return nil
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// listen brings what happens until ctx ends, and why it does not continue; gone is closed
// when nothing runs any more.
func (c *conversation) listen(ctx context.Context) (events chan agent.Event, failed chan error, gone chan struct{}) {
	events, failed, gone = make(chan agent.Event), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(gone)
		for ev, err := range c.talk.Run(ctx) {
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, failed, gone
}

// follow keeps track of turns, and reports whether one has ended with nothing
// queued.
func (c *conversation) follow(ev agent.Event) bool {
	switch ev := ev.(type) {
	case agent.TurnStarted:
		c.idle = false
	case agent.Result:
		c.idle = ev.Queued == 0
		if c.idle {
			c.ready()
		}
		return c.idle
	}
	return false
}

// ready tells that something can be said.
func (c *conversation) ready() { fmt.Fprint(c.out, "> ") }

// say takes in a line, and reports whether the user leaves.
func (c *conversation) say(ctx context.Context, text string) (leaves bool) {
	switch {
	case text == "/exit" || text == "/quit":
		return true
	case text == "":
		if c.idle {
			c.ready()
		}
	case text == "/clear":
		c.talk.Agent.Clear()
	case text == "/compact" || strings.HasPrefix(text, "/compact "):
		c.talk.Agent.Compact(strings.TrimSpace(strings.TrimPrefix(text, "/compact")))
	case text == "/stop":
		c.talk.Agent.Interrupt("")
	case strings.HasPrefix(text, "/"):
		c.command(ctx, text)
	default:
		c.prompt(ctx, text)
	}
	return false
}

// prompt sends what was typed with the files that it mentions, about which questions can be
// answered meanwhile.
func (c *conversation) prompt(ctx context.Context, text string) {
	p := agent.Typed(text)
	if !strings.Contains(text, "@") {
		c.send(p)
		return
	}
	c.idle = false
	for _, name := range c.talk.Input().Missing(text) {
		fmt.Fprintf(c.out, "! %s\n", c.words().T("There is no file @%s here; it is sent as text.", visibleText(name)))
	}
	go func() {
		p, err := c.talk.WithFiles(ctx, p, text)
		if err != nil {
			fmt.Fprintf(c.out, "! %s\n", visibleText(c.words().Error(err)))
		}
		c.talk.Send(p)
	}()
}

func (c *conversation) send(p agent.Prompt) {
	c.idle = false
	c.talk.Send(p)
}

// command does what was typed after a slash, while questions about it can be
// answered.
func (c *conversation) command(ctx context.Context, text string) {
	go func() {
		t, ok, err := c.talk.Input().Read(ctx, text)
		switch {
		case err != nil:
			fmt.Fprintf(c.out, "! %s\n> ", visibleText(c.words().Error(err)))
		case !ok && c.misspelt(text):
		case !ok:
			c.talk.Send(agent.Typed(text))
		case t.Text != "":
			c.talk.Send(agent.Prompt{Content: []model.Block{model.TextOf(t.Text)}, Change: t.Change, Answer: t.Answer})
		default:
			answer, known := answers.Text(c.talk, c.words(), t.Command.Name, t.Arguments)
			if !known {
				answer = c.words().T("/%s is not available here.", t.Command.Name)
			}
			fmt.Fprintf(c.out, "%s\n> ", visibleText(answer))
		}
	}()
}

// misspelt answers a command that does not exist and is near to one that does.
func (c *conversation) misspelt(text string) bool {
	name, _, ok := command.Line(text)
	var names []string
	for _, k := range c.talk.Input().Commands.List().Commands {
		names = append(names, "/"+k.Name)
	}
	hint := answers.Near(c.words(), "/"+name, names, "")
	if !ok || hint == "" {
		return false
	}
	fmt.Fprintf(c.out, "! %s %s\n> ", c.words().T("There is no command /%s.", visibleText(name)), visibleText(hint))
	return true
}
