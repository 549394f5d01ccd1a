// Package notify provides the PushNotification tool, which draws the attention of a user who
// is looking elsewhere.
//
//	t := notify.New(func(ctx context.Context, text string) []string { … })
//
// The tool is safe for concurrent use if its function is.
//
// Trust: text that the model wrote reaches the user's terminal, desktop or program, as plain
// text of limited length and without control characters. Nothing else is touched.
package notify

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/haftdev/haft/tool"
)

// callInput is what the model sends.
type callInput struct {
	Message string `json:"message" jsonschema:"What to say, in one line of at most 200 characters." haft:"min=1;alias=text|body;example=The tests pass. The branch is ready for review."`
	Status  string `json:"status,omitempty" jsonschema:"Has no effect: proactive is the only value." haft:"example=proactive"`
}

// callOutput is what programs get.
type callOutput struct {
	Message string    `json:"message"`
	Ways    []string  `json:"sentTo"` // such as terminal, program, desktop
	SentAt  time.Time `json:"sentAt"`
}

// maxMessage is how long a notification is, in characters.
const maxMessage = 200

// New returns the tool. Send notifies the user and returns the channels that it used.
func New(send func(ctx context.Context, text string) []string) tool.Tool {
	return tool.New(tool.Def[callInput, callOutput]{
		Name:       "PushNotification",
		SearchHint: "notify user alert bell desktop notification attention done",
		Description: "Sends the user a notification through their terminal, desktop or program. Use it when they would want to come back: long work is done, or you cannot continue without them. " +
			"Not for progress, and not for what they see anyway because they just wrote to you.",
		Marks: func(callInput) tool.Marks { return tool.Marks{ReadOnly: true, ConcurrencySafe: true} },
		Permission: func(context.Context, *tool.Call, callInput) tool.Verdict {
			return tool.Verdict{Behavior: tool.Allow, Reason: "it only tells the user something"}
		},
		Run: func(ctx context.Context, _ *tool.Call, in callInput) (callOutput, error) {
			if err := ctx.Err(); err != nil {
				return callOutput{}, err
			}
			text := line(in.Message)
			if text == "" {
				return callOutput{}, tool.Errorf("message has no text. Say what the user should know.")
			}
			return callOutput{Message: text, Ways: append([]string{}, send(ctx, text)...), SentAt: time.Now()}, nil
		},
		Render: func(o callOutput) tool.Result {
			if len(o.Ways) == 0 {
				return tool.Failure("The notification was not shown: there is no terminal, program or desktop to show it.")
			}
			return tool.Text(fmt.Sprintf("Sent to the user's %s. They may not have seen it.", strings.Join(o.Ways, " and ")))
		},
		Summarize: func(in callInput) string { return in.Message },
		Deferred:  true,
	})
}

// line makes one line of a text, without what a terminal would obey.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > maxMessage {
		runes = append(runes[:maxMessage-1:maxMessage-1], '…')
	}
	return string(runes)
}
