package tool

import "fmt"

// A Result is what a call gives back.
type Result struct {
	// Content is what the model reads.
	Content []Block
	// Output is the typed output for programs, encodable as JSON.
	Output any
	// Failed tells the model that the call did not do what was asked. An exit code that is
	// an answer, such as grep's 1, is not a failure.
	Failed bool
	// Messages join the conversation after the result, such as a skill's text.
	Messages []Message
	// Unchanged is what a successful result says instead of Content if the model can still see an
	// earlier result of the tool with the same content. In it, [ShownWhere] stands for where that
	// is. "" always sends Content.
	Unchanged string
	// Change is what the result changes for the calls that follow; nil: nothing.
	Change *Change
}

// ShownWhere is a part of [Result.Unchanged], in whose place comes where the earlier result is,
// such as "3 calls ago".
const ShownWhere = "{where}"

// A Message joins the conversation as if the user had sent it.
type Message struct {
	Content []Block
}

// A Change is what a result changes for the rest of the conversation. It is data and not a
// function, so that a journal can store it.
type Change struct {
	// Allow adds permission rules, such as those of a skill, while the skill is used.
	Allow []string `json:"allow,omitempty"`
	// Model names the model to continue with.
	Model string `json:"model,omitempty"`
	// Mode is the permission mode to continue with.
	Mode string `json:"mode,omitempty"`
	// Reveal names deferred tools that the model may see from the next turn on.
	Reveal []string `json:"reveal,omitempty"`
	// Stop ends the turn after the call, and says why; "" continues.
	Stop string `json:"stop,omitempty"`
}

// Text returns a result that reads as s.
func Text(s string) Result {
	return Result{Content: []Block{{Type: TextBlock, Text: s}}}
}

// Failure returns a failed result that reads as s.
func Failure(s string) Result {
	r := Text(s)
	r.Failed = true
	return r
}

// Text returns the text blocks of the result, joined by newlines.
func (r Result) Text() string { return JoinText(r.Content) }

// An Error is for the model to read and act on: it says what is wrong and what to do
// instead, in stable wording. Errors of any other type end the turn.
type Error struct {
	Message string
	Err     error // the cause, for programs; may be nil
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an error for the model. The verb %w works as in [fmt.Errorf].
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Message: err.Error(), Err: err}
}

// Kept is a result that was too long for the model, and where it is whole.
type Kept struct {
	Path  string `json:"path,omitempty"` // "" if it could not be stored
	Bytes int64  `json:"bytes"`
}
