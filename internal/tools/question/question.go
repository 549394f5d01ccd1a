// Package question provides the AskUserQuestion tool, which asks the user.
//
//	ask := question.New()
//
// The tool does not ask by itself. Permission for the call must come from a user. The front
// end shows the question and puts the answers into the input; see [tool.Call.Answered]. A call
// without answers reports that the user did not answer; it never makes up an answer.
//
// Trust: it touches nothing. It accepts answers from a front end and refuses those that a
// model supplies.
package question

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
)

//go:embed question.md
var description string

// Input is what the model sends, and what comes back from the user.
type Input struct {
	Questions []Question `json:"questions" jsonschema:"What to ask." haft:"min=1;max=4"`
	// Answers are by question; several choices are joined by commas.
	Answers map[string]string `json:"answers,omitempty" jsonschema:"The user's answers. Leave it out: they are filled in by the user."`
	// Annotations are what the user wrote in addition, by question.
	Annotations map[string]Annotation `json:"annotations,omitempty" jsonschema:"The user's remarks. Leave it out."`

	Metadata map[string]any `json:"metadata,omitempty" haft:"ignored"`
}

// A Question is one thing to ask.
type Question struct {
	Text     string   `json:"question" jsonschema:"The question, ending in a question mark." haft:"min=1;max=2000;example=Which database should it use?"`
	Header   string   `json:"header" jsonschema:"One or two words that name it, such as Database." haft:"min=1;max=30;example=Database"`
	Options  []Option `json:"options" jsonschema:"What to choose from." haft:"min=2;max=4"`
	Multiple bool     `json:"multiSelect,omitempty" jsonschema:"Let the user choose several options."`
}

// An Option is one possible answer.
type Option struct {
	Label       string `json:"label" jsonschema:"The answer, in a few words." haft:"min=1;max=200;example=SQLite"`
	Description string `json:"description" jsonschema:"What choosing this option means." haft:"max=2000;example=One file and no server."`
	Preview     string `json:"preview,omitempty" jsonschema:"What it would look like, as Markdown." haft:"max=20000"`
}

// An Annotation is what the user wrote in addition to an answer.
type Annotation struct {
	Preview string `json:"preview,omitempty" jsonschema:"The preview of the chosen option."`
	Notes   string `json:"notes,omitempty" jsonschema:"The user's words."`
}

// callOutput is what programs get.
type callOutput struct {
	Questions   []Question            `json:"questions"`
	Answers     map[string]string     `json:"answers"`
	Annotations map[string]Annotation `json:"annotations,omitempty"`
}

// Of returns the questions of a call, for front ends.
func Of(c *tool.Call) (in Input, err error) {
	err = json.Unmarshal(c.Input, &in)
	return in, err
}

// New returns the tool.
func New() tool.Tool {
	return tool.New(tool.Def[Input, callOutput]{
		Name:        "AskUserQuestion",
		Title:       "Question",
		SearchHint:  "ask user question choose options clarify preference decision",
		Description: description,
		Enabled:     func(s *tool.Session) bool { return s.Interactive },
		Needs:       "there is no user to answer",
		Marks:       func(Input) tool.Marks { return tool.Marks{ReadOnly: true, Effect: tool.Idempotent} },
		Validate:    func(_ context.Context, c *tool.Call, in Input) *tool.Problem { return in.check(c) },
		Permission: func(_ context.Context, _ *tool.Call, in Input) tool.Verdict {
			return tool.Verdict{Behavior: tool.Ask, NeedsPerson: true, Reason: "it is a question to the user", Message: in.Questions[0].Text}
		},
		Run: func(_ context.Context, c *tool.Call, in Input) (callOutput, error) {
			if !c.Answered || len(in.Answers) == 0 {
				return callOutput{}, tool.Errorf("The user has not answered. Do not assume an answer: continue with what does not depend on it, or say what you need to know and end your turn.")
			}
			return callOutput{Questions: in.Questions, Answers: in.Answers, Annotations: in.Annotations}, nil
		},
		Render:          render,
		Summarize:       func(in Input) string { return in.Questions[0].Text },
		SummarizeResult: callOutput.summary,
	})
}

// summary is what the user answered.
func (out callOutput) summary() string {
	var answers []string
	for _, q := range out.Questions {
		if a := out.Answers[q.Text]; a != "" {
			answers = append(answers, q.Header+": "+a)
		}
	}
	return strings.Join(answers, " · ")
}

// check finds questions that nobody could answer, and answers that nobody gave.
func (in Input) check(c *tool.Call) *tool.Problem {
	if c.Session == nil || !c.Session.Interactive {
		return &tool.Problem{Message: "There is no one to ask in this session. Do not assume an answer: choose what is easy to undo and say that you chose it, or say what you need to know and end your turn."}
	}
	if !c.Answered && (in.Answers != nil || in.Annotations != nil) {
		return &tool.Problem{Message: "answers and annotations come from the user. Call AskUserQuestion again without them."}
	}
	asked := make(map[string]bool)
	for _, q := range in.Questions {
		if asked[q.Text] {
			return &tool.Problem{Message: fmt.Sprintf("The question %q is asked twice. Ask each once.", q.Text)}
		}
		asked[q.Text] = true
		labels := make(map[string]bool)
		for _, o := range q.Options {
			if labels[o.Label] {
				return &tool.Problem{Message: fmt.Sprintf("The question %q has the option %q twice. Give each option its own label.", q.Text, o.Label)}
			}
			labels[o.Label] = true
		}
	}
	return nil
}

func render(out callOutput) tool.Result {
	var b strings.Builder
	b.WriteString("The user answered:\n")
	for _, q := range out.Questions {
		answer, ok := out.Answers[q.Text]
		if !ok {
			answer = "(no answer; do not assume one)"
		}
		fmt.Fprintf(&b, "- %s %s\n", q.Text, answer)
		if notes := out.Annotations[q.Text].Notes; notes != "" {
			fmt.Fprintf(&b, "  Remark: %s\n", notes)
		}
	}
	return tool.Text(strings.TrimSuffix(b.String(), "\n"))
}
