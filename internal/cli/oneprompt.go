package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/lang"
	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/internal/plainjson"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/wire"
)

// codeError carries the exit code of something whose outcome was already shown.
type codeError int

func (e codeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// answer answers one prompt.
func (f *converseFlags) answer(ctx context.Context, opts *headless.Options, prompt string) error {
	opts.Interrupts, opts.Unattended = interrupts(ctx), true
	opts.Talk.MCP.Waiting = func(names []string, most time.Duration) {
		fmt.Fprintf(f.Err, "haft: waiting for the MCP servers %s, at most %s\n", visible.Indented(strings.Join(names, ", ")), most)
	}
	if f.Output == "stream-json" {
		return code(ctx, f.serveConversation(ctx, once{wire.NewWriter(f.Out), prompted(prompt)}, opts))
	}
	opts.OneAnswer = true
	var words *lang.Catalogue
	if f.Output == "text" && (f.verbose || strings.HasPrefix(prompt, "/")) { // a program reads the other formats
		var err error
		if words, err = f.wordsFor(uiLanguage(&opts.Harness)); err != nil {
			return err
		}
	}
	if strings.HasPrefix(prompt, "/") {
		opts.Lang = words
	}
	if f.Output == "text" && !f.verbose && f.Debug == "" {
		opts.Log = nil // the result says what went wrong
	}
	show := (&onePromptRemarks{remarks: remarks{f.Err}}).show
	if f.Output == "text" && f.verbose {
		show = plain.New(foldedPieces(f.Err), &plain.Options{Lang: words}).Show
	}
	beside := background{}
	opts.Watch = func(ev agent.Event) error {
		beside.follow(ev)
		return show(ev)
	}
	heard := &messages{all: f.Output == "json" && f.verbose}
	n := f.serveConversation(ctx, once{heard, prompted(prompt)}, opts)
	beside.tell(f.Err)
	if err := f.show(heard); err != nil {
		return fmt.Errorf("could not write the answer: %w", err)
	}
	return code(ctx, n)
}

// onePromptRemarks are what a user should know while one prompt is answered.
type onePromptRemarks struct {
	remarks
	retried string // why the model was asked again last
}

// show writes down an event if it is one to know of.
func (r *onePromptRemarks) show(ev agent.Event) error {
	switch ev := ev.(type) {
	case agent.Notice:
		r.notice(ev)
	case agent.Retrying:
		text := fmt.Sprintf("retrying in %s (%d of %d)", ev.Delay.Round(100*time.Millisecond), ev.Attempt, ev.Max)
		if why := ev.Err.Error(); ev.Attempt == 1 || why != r.retried { // the same reason is said once in a row
			r.retried = why
			text = fmt.Sprintf("the request to the model failed: %s. R%s", why, text[1:])
		}
		r.notice(agent.Notice{Level: "warning", Text: text})
	case agent.FellBack:
		r.notice(agent.Notice{Level: "warning", Text: fmt.Sprintf("falling back to %s from %s", ev.To, ev.From)})
	}
	return nil // failing to write the notice does not stop the run
}

func (b background) follow(ev agent.Event) {
	change, ok := ev.(agent.TaskChanged)
	switch {
	case !ok:
	case change.Task.Background && change.Task.Status == "running":
		b[change.Task.ID] = change.Task
	default:
		delete(b, change.Task.ID)
	}
}

// tell says what ended only because the answer was there.
func (b background) tell(w io.Writer) {
	for _, id := range slices.Sorted(maps.Keys(b)) {
		fmt.Fprintf(w, "note: the session ended with the answer while this was still running in the background: %s\n", visible.Indented(oneLine(b[id].Description)))
	}
}

// show writes the one result there is, or every message as one list.
func (f *converseFlags) show(heard *messages) error {
	r := heard.result
	switch {
	case heard.all:
		line, err := plainjson.Marshal(heard.list)
		if err == nil {
			_, err = f.Out.Write(append(line, '\n'))
		}
		return err
	case r == nil:
		return nil
	case f.Output == "json":
		line, err := wire.Encode(r)
		if err == nil {
			_, err = f.Out.Write(append(line, '\n'))
		}
		return err
	case r.Subtype != wire.ResultSuccess || r.IsError:
		text := strings.Join(r.Errors, "\n")
		if text == "" {
			text = r.Result
		}
		_, err := fmt.Fprintf(f.Err, "haft: %s\n", visible.Text(text))
		return err
	}
	text := r.Result
	if isTerminal(f.Out) {
		text = visible.Prose(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(f.Out, text)
	return err
}

// interrupts delivers the first Ctrl-C, which stops the turn and not the process; a second
// one kills. A repeated request to terminate does not: everything is already being stopped,
// and that takes only a moment.
func interrupts(ctx context.Context) <-chan struct{} {
	got, tell := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(got, os.Interrupt)
	signal.Notify(make(chan os.Signal, 1), terminations()...)
	go func() {
		defer signal.Stop(got)
		select {
		case <-got:
			tell <- struct{}{}
		case <-ctx.Done():
		}
	}()
	return tell
}

// code is how the process ends: a signal that ends it says so.
func code(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return codeError(exitTerminated)
	}
	if n == 0 {
		return nil
	}
	return codeError(n)
}

// once is a stream with one prompt.
type once struct {
	out interface{ Write(wire.Message) error }
	in  *prompts
}

type prompts struct{ left []wire.Message }

func prompted(text string) *prompts { return &prompts{left: []wire.Message{wire.Prompt(text)}} }

func (o once) Read() (wire.Message, error) {
	if len(o.in.left) == 0 {
		return nil, io.EOF
	}
	m := o.in.left[0]
	o.in.left = o.in.left[1:]
	return m, nil
}

func (o once) Write(m wire.Message) error { return o.out.Write(m) }

// messages keeps the result of the last turn, because background work may add another one
// after the first, and everything if all is set.
type messages struct {
	all    bool
	list   []json.RawMessage
	result *wire.Result
}

func (l *messages) Write(m wire.Message) error {
	if r, ok := m.(*wire.Result); ok {
		l.result = r
	}
	if !l.all {
		return nil
	}
	line, err := wire.Encode(m)
	l.list = append(l.list, line)
	return err
}
