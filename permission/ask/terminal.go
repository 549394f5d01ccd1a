package ask

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/haftdev/haft/tool"
)

// A Terminal asks a person, line by line. Questions wait for each other.
type Terminal struct {
	out   io.Writer
	grant func(tool.Suggestion) error
	one   sync.Mutex // held by the question that is shown

	mu     sync.Mutex
	answer chan string // of the question that is shown, or nil
	ended  bool        // nothing more will be typed
}

// NewTerminal returns an asker that reads answers from in and writes questions to
// out. Grant keeps a rule that the person chose to keep; nil means that rules
// cannot be kept. The asker owns in from now on.
func NewTerminal(in io.Reader, out io.Writer, grant func(tool.Suggestion) error) *Terminal {
	t := &Terminal{out: out, grant: grant}
	go t.read(in)
	return t
}

// read hands every line to the question that is shown. A line that finds none
// was typed before the question was there, and must not answer it.
func (t *Terminal) read(in io.Reader) {
	scan := bufio.NewScanner(in)
	for scan.Scan() {
		t.mu.Lock()
		select {
		case t.answer <- scan.Text():
		default:
		}
		t.mu.Unlock()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.answer != nil {
		close(t.answer)
	}
}

// Ask shows the call and returns what the person decides.
func (t *Terminal) Ask(ctx context.Context, c tool.Case, question tool.Verdict) (tool.Verdict, error) {
	t.one.Lock()
	defer t.one.Unlock()
	fmt.Fprint(t.out, text(c, question, t.grant != nil))
	answer := t.listen()
	defer t.listenNoMore()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(t.out, "\n(no answer needed any more)")
			return tool.Verdict{}, ctx.Err()
		case line, ok := <-answer:
			if !ok {
				return tool.Verdict{Reason: "the input ended before an answer"}, nil
			}
			if v, ok := t.understand(strings.TrimSpace(line), question); ok {
				return v, nil
			}
			fmt.Fprint(t.out, "Please answer y or n: ")
		}
	}
}

func (t *Terminal) listen() chan string {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer := make(chan string, 8) // lines typed faster than they are understood
	if t.ended {
		close(answer)
		return answer
	}
	t.answer = answer
	return answer
}

func (t *Terminal) listenNoMore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answer = nil
}

func (t *Terminal) understand(line string, question tool.Verdict) (tool.Verdict, bool) {
	word, rest, _ := strings.Cut(line, " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		return tool.Verdict{Behavior: tool.Allow, Reason: "the person allowed it once"}, rest == ""
	case "a", "always":
		if t.grant == nil || len(question.Suggestions) == 0 {
			return tool.Verdict{}, false
		}
		s := question.Suggestions[0]
		if err := t.grant(s); err != nil {
			fmt.Fprintf(t.out, "The rule could not be kept: %v\n", err)
			return tool.Verdict{}, false
		}
		return tool.Verdict{Behavior: tool.Allow, Reason: "the person allowed it from now on", Rule: s.Rule}, true
	case "n", "no":
		return tool.Verdict{Behavior: tool.Deny, Reason: "the person denied it", Message: Denial(rest)}, true
	}
	return tool.Verdict{}, false
}

// Denial is what the model reads when a person has denied a call, with what they
// said about it, if anything.
func Denial(why string) string {
	const stop = "The person denied this call."
	if why == "" {
		return stop + " Do not try it in another way; ask what they would like instead."
	}
	return stop + " They say: " + why
}

// text is the question. What the model wrote is shown so that nothing in it can
// move the cursor, hide a part or forge an answer.
func text(c tool.Case, question tool.Verdict, canKeep bool) string {
	var b strings.Builder
	name := c.Call.Tool
	if c.Call.Agent != "" {
		name += " (sub-agent " + Visible(c.Call.Agent) + ")"
	}
	fmt.Fprintf(&b, "\n%s wants to run with\n  %s\n", name, Visible(string(c.Call.Input)))
	reason := question.Reason
	if question.Rule != "" {
		reason += " (" + question.Rule + " in " + question.Origin + ")"
	}
	fmt.Fprintf(&b, "Asked because %s.\n", Visible(reason))
	b.WriteString("[y] allow once")
	if canKeep && len(question.Suggestions) > 0 {
		fmt.Fprintf(&b, "  [a] always: keep the rule %s", Visible(question.Suggestions[0].Rule))
	}
	b.WriteString("  [n] deny, [n why] deny and say why: ")
	return b.String()
}
