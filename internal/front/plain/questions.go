package plain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/guard/ask"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/plan"
	"github.com/haftdev/haft/internal/tools/question"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/elicit"
	"github.com/haftdev/haft/tool"
)

// A Person answers questions line by line. One question is asked at a time. It is
// safe for concurrent use.
type Person struct {
	out    io.Writer
	words  *lang.Catalogue
	grants bool       // rules can be kept for the session
	one    sync.Mutex // held by the question that is asked

	mu     sync.Mutex
	asked  time.Time   // since when one is asked
	answer chan string // of the question that is asked; nil: none is
	ended  bool
	prompt string // what was asked last
}

// NewPerson returns a user who is asked at out, in English, and answers by Hear, but keeps no
// rules.
func NewPerson(out io.Writer) *Person { return &Person{out: out} }

// listen makes lines answers to what was just asked, until end is called.
func (p *Person) listen(question string) (answers <-chan string, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := make(chan string, 8)
	if p.ended {
		close(answer)
		return answer, func() {}
	}
	p.asked, p.answer, p.prompt = time.Now(), answer, question
	return answer, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answer = nil
	}
}

// line asks for a line.
func (p *Person) line(ctx context.Context, format string, args ...any) (said string, err error) {
	err = p.until(ctx, fmt.Sprintf(format, args...), func(line string) (again string) {
		said = line
		return ""
	})
	return said, err
}

// until asks, and hears lines until one of them is an answer: then heard returns
// nothing more to ask.
func (p *Person) until(ctx context.Context, question string, heard func(line string) (again string)) error {
	io.WriteString(p.out, question) // a write error surfaces where the conversation is shown
	answers, end := p.listen(question)
	defer end()
	for {
		select {
		case s, ok := <-answers:
			if !ok {
				return io.EOF
			}
			if question = heard(strings.TrimSpace(s)); question == "" {
				return nil
			}
			io.WriteString(p.out, question)
		case <-ctx.Done():
			io.WriteString(p.out, "\n"+p.words.T("(an answer is no longer needed)")+"\n")
			return ctx.Err()
		}
	}
}

// Ask shows the call and returns what the user decides. One that may lose
// something for good needs a word beside the yes.
func (p *Person) Ask(ctx context.Context, c tool.Case, q tool.Verdict) (v tool.Verdict, err error) {
	p.one.Lock()
	defer p.one.Unlock()
	if c.Call.Tool == "AskUserQuestion" {
		return p.questions(ctx, c)
	}
	what := card.PreviewOf(c, p.words)
	v, err = p.verdict(ctx, About(c, what, q, p.words), p.rules(q))
	if err != nil || v.Behavior != tool.Allow || !what.Destructive {
		return v, err
	}
	word, err := p.line(ctx, "%s ", what.Loss(p.words)+" "+p.words.T("Type %s to continue:", "allow"))
	if err != nil {
		return tool.Verdict{}, err
	}
	if word != "allow" {
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: ask.Denial("")}, nil
	}
	return v, nil
}

// Decide shows what would be done and returns what the user decides. Only an answer that is
// understood decides.
func (p *Person) Decide(ctx context.Context, what string) (tool.Verdict, error) {
	p.one.Lock()
	defer p.one.Unlock()
	return p.verdict(ctx, what, nil)
}

// verdict asks until a line is an answer.
func (p *Person) verdict(ctx context.Context, what string, rules []tool.Suggestion) (v tool.Verdict, err error) {
	choices := p.words.T("y: allow once")
	if len(rules) > 0 {
		choices += " · " + p.words.T("s: allow %s for this session", visible.Indented(ask.Rules(rules)))
	}
	err = p.until(ctx, what+choices+" · "+p.words.T("n [reason]: deny")+" > ", func(line string) (again string) {
		v, again = p.decide(line, rules)
		return again
	})
	if errors.Is(err, io.EOF) {
		return tool.Verdict{Reason: "the input ended before an answer"}, nil
	}
	return v, err
}

// rules are those that would settle the next such call, all of them together.
func (p *Person) rules(q tool.Verdict) []tool.Suggestion {
	if !p.grants || q.NeedsPerson {
		return nil
	}
	return q.Suggestions
}

// decide understands an answer, or asks again.
func (p *Person) decide(line string, rules []tool.Suggestion) (v tool.Verdict, again string) {
	word, rest, _ := strings.Cut(line, " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		if rest == "" {
			return tool.Verdict{Behavior: tool.Allow, Reason: "the user allowed it once"}, ""
		}
	case "s", "session":
		if rest != "" || len(rules) == 0 {
			break
		}
		return ask.Always(rules, "session"), ""
	case "n", "no":
		return tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: ask.Denial(rest)}, ""
	}
	if len(rules) > 0 {
		return v, p.words.T("Please answer y, s or n:") + " "
	}
	return v, p.words.T("Please answer y or n:") + " "
}

// Question is what a user is asked: what would be done, all of it, and why it is
// asked about.
func Question(c tool.Case, q tool.Verdict, words *lang.Catalogue) string {
	return About(c, card.PreviewOf(c, words), q, words)
}

// About is [Question] for a preview of the call that is known already.
func About(c tool.Case, what card.Preview, q tool.Verdict, words *lang.Catalogue) string {
	var b strings.Builder
	if c.Call.Tool == "ExitPlanMode" {
		if text := plan.Text(c.Call); text != "" {
			return fmt.Sprintf("\n%s\n%s\n%s\n", words.T("The plan:"), visibleText(text), words.T("Do you approve it?"))
		}
	}
	switch {
	case c.Ran() && len(c.Preview.Files) == 0:
		b.WriteString("\n" + words.T("Give the model the output of this command?") + "\n")
	case c.Ran():
		b.WriteString("\n" + words.T("Apply the changes that this command made?") + "\n")
	case c.Call.Tool == "Bash":
		b.WriteString("\n" + words.T("Run this command?") + "\n")
	case what.Path != "":
		fmt.Fprintf(&b, "\n%s\n", words.T("%s %s?", what.Title, visible.Indented(what.Path)))
	default:
		fmt.Fprintf(&b, "\n%s\n", words.T("Use %s?", what.Title))
	}
	if what.Text != "" && what.Text != "{}" {
		fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(what.Text, "\n", "\n    "))
	}
	if what.Note != "" {
		fmt.Fprintf(&b, "    %s\n", what.Note)
	}
	for _, line := range what.Summary {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	for _, f := range what.Files {
		writeDiff(&b, f, len(what.Files) > 1 || c.Ran())
	}
	if what.Restorable {
		fmt.Fprintf(&b, "%s\n", what.Loss(words))
	}
	reason := words.Sentence(q.Reason)
	if q.Rule != "" {
		reason += " (" + q.Rule + " in " + q.Origin + ")"
	}
	if c.Call.Agent != "" {
		reason += " (sub-agent " + c.Call.Agent + ")"
	}
	fmt.Fprintf(&b, "%s\n", words.T("Asked because %s.", visible.Indented(reason)))
	return b.String()
}

// writeDiff writes what would change in a file, with its name if there is something to
// say about it or there are others.
func writeDiff(b *strings.Builder, f card.FileDiff, several bool) {
	switch head := f.Head(); {
	case head != "":
		fmt.Fprintf(b, "    %s\n", head)
	case several:
		fmt.Fprintf(b, "    %s\n", visible.Name(f.Path))
	}
	for i, h := range f.Hunks {
		if i > 0 {
			fmt.Fprintf(b, "    … line %d\n", h.NewStart)
		}
		for _, l := range h.Lines {
			fmt.Fprintf(b, "    %s%s\n", l[:1], visible.Blanks(visibleText(l[1:])))
		}
	}
}

// questions asks what the model wants to know.
func (p *Person) questions(ctx context.Context, c tool.Case) (tool.Verdict, error) {
	in, err := question.Of(c.Call)
	if err != nil {
		return tool.Verdict{}, err
	}
	in.Answers = map[string]string{}
	for _, q := range in.Questions {
		fmt.Fprintf(p.out, "\n%s\n", visibleText(q.Text))
		for i, o := range q.Options {
			fmt.Fprintf(p.out, "  %d %s: %s\n", i+1, visibleText(o.Label), visibleText(o.Description))
		}
		how := p.words.T("A number, or your own answer:")
		if q.Multiple {
			how = p.words.T("Numbers separated by commas, or your own answer:")
		}
		for in.Answers[q.Text] == "" {
			said, err := p.line(ctx, "%s ", how)
			if err != nil {
				return tool.Verdict{}, err
			}
			in.Answers[q.Text] = chosen(q, said)
		}
	}
	raw, err := json.Marshal(in)
	return tool.Verdict{Behavior: tool.Allow, Reason: "the user answered", Input: raw}, err
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
		said, err := p.line(ctx, "\n%s: %s\n%s %s\n%s ", p.words.T("The server %s asks", visibleText(e.Server)), visibleText(e.Message), p.words.T("It asks you to visit"), visibleText(e.URL), p.words.T("Type done when you have finished, or no:"))
		if err != nil || said != "done" {
			return mcp.Answer{Action: "decline"}, err
		}
		return mcp.Answer{Action: "accept"}, nil
	}
	return p.form(ctx, e)
}

// form asks for the fields of a form one after the other, each until it is filled in
// right, and before the end whether the answers are to be sent.
func (p *Person) form(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	decline := mcp.Answer{Action: "decline"}
	fields, err := elicit.Fields(e.Schema, p.words)
	if err != nil {
		fmt.Fprintf(p.out, "\n%s: %s\n%s\n", p.words.T("The server %s asks", visibleText(e.Server)), visibleText(e.Message), p.words.T("Its form cannot be shown, so it was declined: %s", visibleText(p.words.Error(err))))
		return decline, nil
	}
	fmt.Fprintf(p.out, "\n%s: %s\n", p.words.T("The server %s asks", visibleText(e.Server)), visibleText(e.Message))
	values := map[string]string{}
	for _, f := range fields {
		err := p.until(ctx, p.fieldQuestion(f), func(line string) (again string) {
			if line == "" {
				line = f.Default
			}
			if _, err := f.Value(line); err != nil {
				return p.words.T("Invalid answer: %s. Try again:", err) + " "
			}
			values[f.Name] = line
			return ""
		})
		if err != nil {
			return decline, err
		}
	}
	said, err := p.line(ctx, "%s ", p.words.T("Send this to %s? y or n:", visibleText(e.Server)))
	if err != nil || said != "y" && said != "yes" {
		return decline, err
	}
	content, err := elicit.Content(fields, values)
	if err != nil {
		return decline, err
	}
	return mcp.Answer{Action: "accept", Content: content}, nil
}

// fieldQuestion asks for one field.
func (p *Person) fieldQuestion(f elicit.Field) string {
	var b strings.Builder
	b.WriteString(visibleText(f.Label))
	if f.Required {
		b.WriteString(" " + p.words.T("(required)"))
	}
	if f.Help != "" {
		b.WriteString(": " + visibleText(f.Help))
	}
	b.WriteByte('\n')
	for i, o := range f.Options {
		fmt.Fprintf(&b, "  %d %s\n", i+1, visibleText(o.Title))
	}
	switch f.Kind {
	case elicit.One, elicit.YesNo:
		b.WriteString(p.words.T("A number"))
	case elicit.Many:
		b.WriteString(p.words.T("Numbers separated by commas"))
	default:
		b.WriteString(p.words.T("Answer"))
	}
	if f.Default != "" {
		b.WriteString(" " + p.words.T("(enter for %s)", visibleText(f.Default)))
	}
	return b.String() + ": "
}

// Hear takes a line as an answer, and reports false if it is none.
func (p *Person) Hear(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer == nil {
		return false
	}
	if time.Since(p.asked) < arming {
		io.WriteString(p.out, p.words.T("(a question appeared while you were typing, so this line was sent as a message)")+"\n"+p.prompt) // as in until
		return false
	}
	switch strings.TrimSpace(line) {
	case "/stop", "/exit", "/quit":
		return false // they end the question too
	case "/help":
		io.WriteString(p.out, p.words.T("A question is waiting for your answer. /stop stops the turn, /exit quits; other commands work once it is answered.")+"\n"+p.prompt) // as in until
		return true
	}
	select {
	case p.answer <- line:
	default:
	}
	return true
}

// arming is how long a question must be there before a line answers it: what was
// being typed when it came is no answer.
const arming = 300 * time.Millisecond

// HangUp says that nothing more will be typed: nobody is there to allow anything.
func (p *Person) HangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.answer != nil {
		close(p.answer)
		p.answer = nil
	}
}
