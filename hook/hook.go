package hook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Hook is something to run at an event. One of Command, URL, Prompt and Func
// is set.
type Hook struct {
	// Event is the event at which the hook runs.
	Event Event
	// Matcher selects tools, or whatever the event is about: names as in A|B, a regular
	// expression, rules such as Bash(git *); "" and "*" mean all.
	Matcher string
	// If narrows the matcher by a rule; "" means that it does not.
	If string

	// Command is a command for a shell. With Args, which may be empty, it is a program that
	// gets them as they are, except that ${NAME} is replaced by variables that haft sets.
	Command string
	Args    []string
	// URL is where the input is posted, with Headers. $NAME and ${NAME} in headers are
	// replaced by variables that Env names.
	URL     string
	Headers map[string]string
	// Prompt is a condition that a model judges, given the input in the place of $ARGUMENTS or
	// at the end: Model, or any if it is "". With Agentic an agent with tools does.
	Prompt  string
	Model   string
	Agentic bool
	// Func is called in this process. It should return when its context ends; if it does
	// not, it is abandoned.
	Func func(context.Context, Input) (Output, error)

	// Name is for reports; "" means the command or URL.
	Name string
	// Timeout is how long the hook may take; 0 means the runner's timeout.
	Timeout time.Duration
	// Block makes an error of the hook itself block. For a Stop hook it blocks once: the
	// turn that continues because of it may end.
	Block bool
	// Required makes it block that haft must not run the hook, because [Options.Check] or
	// Check says so, or cannot tell whether to run it. Block implies it.
	Required bool
	// Fault is what is wrong with its configuration, nil if nothing is. It is the hook's error
	// each time the hook should run.
	Fault error
	// Async keeps the event from waiting for the hook: its answer decides nothing, and is
	// only reported.
	Async bool
	// Preview makes a PreToolUse hook wait until it is known what the call would change,
	// which is then in its input. It runs even if the change cannot be known. If it asks
	// about a command whose change was not looked at, it runs once more with the change.
	Preview bool
	// Env names variables with provider keys that it needs.
	Env []string
	// Vars are additional environment variables for a command.
	Vars map[string]string
	// Once makes it run only once.
	Once bool
	// Agent limits the hook to the events of one sub-agent and the calls of the agents that it
	// starts; "" means the whole session.
	Agent string
	// Check is called before each run, like the runner's; nil means that nothing prevents
	// the run.
	Check func() error
	// Origin is where it was set up; "" means in code.
	Origin string
}

// name is what people know the hook by.
func (h *Hook) name() string {
	switch {
	case h.Name != "":
		return h.Name
	case h.Command != "":
		return h.Command
	case h.URL != "":
		return h.URL
	case h.Prompt != "":
		return h.Prompt
	}
	return "a function"
}

// same reports whether two hooks would do the same: a hook that is configured in two files
// runs once.
func (h *Hook) same(o *Hook) bool {
	return h.Func == nil && o.Func == nil && h.Command == o.Command && slices.Equal(h.Args, o.Args) && (h.Args == nil) == (o.Args == nil) && h.URL == o.URL && h.Prompt == o.Prompt && h.Model == o.Model && h.Agentic == o.Agentic && h.Timeout == o.Timeout && h.Block == o.Block && h.Required == o.Required && (h.Fault == nil) == (o.Fault == nil) && h.Async == o.Async && h.Preview == o.Preview &&
		fmt.Sprint(h.Headers) == fmt.Sprint(o.Headers) && strings.Join(h.Env, " ") == strings.Join(o.Env, " ") && maps.Equal(h.Vars, o.Vars)
}
