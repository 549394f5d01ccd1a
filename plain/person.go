package plain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/card"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/permission/ask"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/question"
)

// arming is how long a question must be there before a line answers it: what was
// being typed when it came is no answer.
const arming = 300 * time.Millisecond

// A Person answers questions line by line. One question is asked at a time. It is
// safe for concurrent use.
type Person struct {
	out   io.Writer
	rules *ask.Terminal  // reads what is typed from the pipe
	typed *io.PipeWriter // lines for it

	one sync.Mutex // held by the question that is asked

	mu     sync.Mutex
	asked  time.Time   // since when one is asked; zero: none is
	answer chan string // for questions of our own; nil if rules ask
	grant  func(tool.Suggestion) error
	ended  bool
}

func newPerson(out io.Writer) *Person {
	in, typed := io.Pipe()
	p := &Person{out: out, typed: typed}
	p.rules = ask.NewTerminal(in, out, p.keep)
	return p
}

// Grant says how a rule is kept that the person chose to keep.
func (p *Person) Grant(keep func(tool.Suggestion) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant = keep
}

func (p *Person) keep(s tool.Suggestion) error {
	p.mu.Lock()
	grant := p.grant
	p.mu.Unlock()
	if grant == nil {
		return fmt.Errorf("rules cannot be kept here")
	}
	return grant(s)
}

// hear takes a line as an answer, and reports false if it is none.
func (p *Person) hear(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() || time.Since(p.asked) < arming {
		return false
	}
	if p.answer != nil {
		select {
		case p.answer <- line:
		default:
		}
		return true
	}
	io.WriteString(p.typed, line+"\n") // the one who asks always reads, until the end
	return true
}

// hangUp says that nothing more will be typed: nobody is there to allow anything.
func (p *Person) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.answer != nil {
		close(p.answer)
		p.answer = nil
	}
	p.typed.Close()
}

// begin makes lines answers, until the returned function is called.
func (p *Person) begin(answer chan string) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.answer = time.Now(), answer
	if p.ended && answer != nil {
		close(answer)
		p.answer = nil
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked, p.answer = time.Time{}, nil
	}
}

// line asks for one line.
func (p *Person) line(ctx context.Context, format string, args ...any) (string, error) {
	answer := make(chan string, 8)
	fmt.Fprintf(p.out, format, args...)
	defer p.begin(answer)()
	select {
	case s, ok := <-answer:
		if !ok {
			return "", io.EOF
		}
		return strings.TrimSpace(s), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Ask shows the call and returns what the person decides. One that may lose
// something for good needs a word beside the yes.
func (p *Person) Ask(ctx context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
	p.one.Lock()
	defer p.one.Unlock()
	switch c.Call.Tool {
	case "AskUserQuestion":
		return p.questions(ctx, c)
	case "ExitPlanMode":
		var in struct {
			Plan string `json:"plan"`
		}
		if json.Unmarshal(c.Call.Input, &in) == nil && in.Plan != "" {
			fmt.Fprintf(p.out, "\nThe plan:\n%s\n", visibleText(in.Plan))
		}
	}
	p.preview(c)
	end := p.begin(nil)
	v, err := p.rules.Ask(ctx, c, q)
	end()
	if err != nil || v.Behavior != tool.Allow || !card.PreviewOf(c).Destructive {
		return v, err
	}
	word, err := p.line(ctx, "This may lose something for good. Type allow to go on: ")
	if err != nil {
		return tool.Verdict{}, err
	}
	if word != "allow" {
		return tool.Verdict{Behavior: tool.Deny, Reason: "the person denied it", Message: ask.Denial("")}, nil
	}
	return v, nil
}

// preview prints the change that a call would make.
func (p *Person) preview(c tool.Case) {
	for _, h := range card.PreviewOf(c).Hunks {
		for _, l := range h.Lines {
			fmt.Fprintf(p.out, "    %s\n", visibleText(l))
		}
	}
}

// questions asks what the model wants to know.
func (p *Person) questions(ctx context.Context, c tool.Case) (tool.Verdict, error) {
	var in question.Input
	if err := json.Unmarshal(c.Call.Input, &in); err != nil {
		return tool.Verdict{}, err
	}
	in.Answers = map[string]string{}
	for _, q := range in.Questions {
		fmt.Fprintf(p.out, "\n%s\n", visibleText(q.Text))
		for i, o := range q.Options {
			fmt.Fprintf(p.out, "  %d %s: %s\n", i+1, visibleText(o.Label), visibleText(o.Description))
		}
		how := "A number, or your own words: "
		if q.Multiple {
			how = "Numbers with commas between them, or your own words: "
		}
		for in.Answers[q.Text] == "" {
			said, err := p.line(ctx, "%s", how)
			if err != nil {
				return tool.Verdict{}, err
			}
			in.Answers[q.Text] = chosen(q, said)
		}
	}
	raw, err := json.Marshal(in)
	return tool.Verdict{Behavior: tool.Allow, Reason: "the person answered", Input: raw}, err
}

// chosen turns numbers into the options that they stand for.
func chosen(q question.Question, said string) string {
	var labels []string
	for part := range strings.SplitSeq(said, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) || len(labels) > 0 && !q.Multiple {
			return said
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	return strings.Join(labels, ", ")
}

// Elicit asks what an MCP server wants to know.
func (p *Person) Elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	p.one.Lock()
	defer p.one.Unlock()
	if e.Mode == "url" {
		said, err := p.line(ctx, "\nThe server %s asks: %s\nIt wants you to visit %s\nSay done when you have, or no: ", visibleText(e.Server), visibleText(e.Message), visibleText(e.URL))
		if err != nil || said != "done" {
			return mcp.Answer{Action: "decline"}, err
		}
		return mcp.Answer{Action: "accept"}, nil
	}
	said, err := p.line(ctx, "\nThe server %s asks: %s\nAnswer with a JSON object for %s, or no: ", visibleText(e.Server), visibleText(e.Message), visibleText(string(e.Schema)))
	if err != nil || !json.Valid([]byte(said)) || !strings.HasPrefix(said, "{") {
		return mcp.Answer{Action: "decline"}, err
	}
	return mcp.Answer{Action: "accept", Content: json.RawMessage(said)}, nil
}
