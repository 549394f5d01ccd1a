package plain

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/text/lang"
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
	Open func(ctx context.Context, person *Person) (*drive.Driver, error)
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
	if c.drive, err = o.Open(ctx, c.person); err != nil {
		return err
	}
	defer c.close(context.WithoutCancel(ctx))
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
	last, _ := c.drive.Close(ctx)
	show := New(c.out, c.opts.Show)
	for _, n := range last {
		_ = show.Show(n) // nobody is left to be told
	}
}

// A conversation is one that is led line by line.
type conversation struct {
	opts   ConverseOptions
	drive  *drive.Driver
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
		c.say(c.opts.Prompt)
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
			switch ev := ev.(type) {
			case agent.Waiting:
				continue // the question itself is shown
			case drive.CommandDone:
				c.answered(ev)
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
			if ok && c.say(strings.TrimSpace(text)) {
				return nil
			}
		case <-c.opts.Interrupts:
			if !c.drive.Interrupt() {
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
		for ev, err := range c.drive.Run(ctx) {
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

// follow keeps track of what runs, and reports whether it has ended with nothing queued.
func (c *conversation) follow(ev agent.Event) bool {
	switch ev := ev.(type) {
	case agent.TurnStarted:
		c.idle = false
	case agent.Result:
		c.idle = ev.Queued == 0 && !c.drive.Busy()
	case drive.CommandDone:
		c.idle = !c.drive.Busy()
	default:
		return false
	}
	if c.idle {
		c.ready()
	}
	return c.idle
}

// answered shows the answer to a command.
func (c *conversation) answered(a drive.CommandDone) {
	switch {
	case errors.Is(a.Err, drive.ErrStopped):
	case a.Err != nil:
		fmt.Fprintf(c.out, "! %s\n", visibleText(c.words().Error(a.Err)))
	default:
		fmt.Fprintf(c.out, "%s\n", visibleText(a.Text))
	}
}

// ready tells that something can be said.
func (c *conversation) ready() { fmt.Fprint(c.out, "> ") }

// say takes in a line, and reports whether the user leaves.
func (c *conversation) say(text string) (leaves bool) {
	switch {
	case text == "/exit" || text == "/quit":
		return true
	case text == "":
		if c.idle {
			c.ready()
		}
	case text == "/stop":
		c.drive.Interrupt()
	default:
		c.idle = false
		c.drive.Say(drive.Message{Prompt: agent.Typed(text)})
	}
	return false
}
