package settings

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/near"
)

// A Hook is one hook as set up. Package hook runs it.
type Hook struct {
	Origin
	// Event is when it runs, such as PreToolUse.
	Event string
	// Matcher selects tools, or whatever the event is about; "" means all.
	Matcher string
	// If narrows the matcher by a rule such as Bash(git *); "" means that it does not.
	If string
	// Type is command, http, prompt or agent.
	Type string
	// Command is what a shell runs, for command hooks. With Args, which may be empty, it is a
	// program that gets them as they are; nil means that a shell runs it.
	Command string
	Args    []string
	// URL and Headers are where the input is sent, for http hooks. Headers may
	// refer to variables that Env names, as $NAME or ${NAME}.
	URL     string
	Headers map[string]string
	// Prompt is what a model or an agent is asked, for prompt and agent hooks, and Model which
	// one; "" means any.
	Prompt, Model string
	// Timeout is how long it may take; 0 means the usual time.
	Timeout time.Duration
	// OnError is continue or block: what an error of the hook itself means. "" means what the
	// file and the event say; see [Hook.Blocks].
	OnError string
	// Lenient hooks are those of files that Claude Code reads too: an error blocks only if
	// OnError says so.
	Lenient bool
	// Fault is what is wrong with its configuration, with file and line; nil if nothing is. A
	// hook with a Fault does not run, and OnError decides what its error means.
	Fault error
	// Env names variables that it needs and would not get otherwise.
	Env []string
	// Async hooks are not waited for: their answers decide nothing.
	Async bool
	// Preview hooks of PreToolUse run when it is known what the call would change.
	Preview bool
	// Path leads to the hook in its file, for [Settings.Prune].
	Path []string
	// JSON is the hook as written in the file.
	JSON json.RawMessage
}

// Guards are the events whose hooks can prevent something: a call, a permission, a prompt,
// the end of a turn.
var Guards = []string{"PreToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "SubagentStop"}

// Guards reports whether the hook can prevent something. A hook that is not waited for
// cannot.
func (h *Hook) Guards() bool { return slices.Contains(Guards, h.Event) && !h.Async }

// Blocks reports whether an error of the hook itself blocks.
func (h *Hook) Blocks() bool {
	return h.OnError == "block" || h.OnError == "" && h.Guards() && !h.Lenient
}

// Line is what a command hook runs, as a command for a shell.
func (h *Hook) Line() string {
	if h.Args == nil {
		return h.Command
	}
	var words []string
	for _, word := range append([]string{h.Command}, h.Args...) {
		words = append(words, `"`+asText.Replace(word)+`"`)
	}
	return strings.Join(words, " ")
}

// asText keeps a shell from finding anything but ${NAME} between double quotes.
var asText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", "$(", `\$(`)

// Required reports whether it blocks that haft must not run the hook, because it has changed
// since it was trusted, or cannot tell whether it should.
func (h *Hook) Required() bool { return h.Blocks() || h.OnError == "" && h.Guards() }

// failClosed is the key under hooks that makes errors of all hooks block, in any file.
const failClosed = "failClosed"

// Events are the events that hooks can be set up for.
var Events = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit", "SessionStart",
	"SessionEnd", "Stop", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "PostToolBatch", "Notification",
	"StopFailure", "TaskCreated", "TaskCompleted", "InstructionsLoaded",
}

// elsewhere are events of Claude Code that haft does not have. A shared file must not cause
// a warning for them.
var elsewhere = []string{
	"ConfigChange", "CwdChanged", "Elicitation", "ElicitationResult", "FileChanged", "PermissionDenied", "Setup", "TeammateIdle",
	"UserPromptExpansion", "WorktreeCreate", "WorktreeRemove",
}

// strange reports a name that is not an event: its hooks never run.
func (r *hookReader) strange(event string, line int) {
	if slices.Contains(elsewhere, event) {
		r.report(Unknown, line, "hooks."+event, "is not a known event")
		return
	}
	text := "is not a known event, so its hooks never run"
	if found := near.Names(event, Events, 1); len(found) > 0 {
		text += "; did you mean " + found[0] + "?"
	}
	r.report(Ignored, line, "hooks."+event, text)
}

type hookReader struct {
	file     *File
	lenient  bool
	hooks    []Hook
	problems []Problem
}

func (r *hookReader) report(kind ProblemKind, line int, key, text string) {
	r.problems = append(r.problems, Problem{r.file.origin(line), kind, key, text})
}

func (r *hookReader) group(event string, at int, group *node) {
	key := fmt.Sprintf("hooks.%s[%d]", event, at)
	if group.kind != '{' {
		r.report(Ignored, group.line, key, "must be an object with a matcher (a string) and hooks (a list): it is ignored")
		return
	}
	matcher, fault := "", ""
	if m := group.child("matcher"); m != nil {
		var ok bool
		if matcher, ok = m.text(); !ok {
			fault = "the matcher must be a string"
			if list := group.child("hooks"); list != nil && len(list.elements) == 0 {
				r.report(Ignored, group.line, key, fault)
			}
		}
	}
	hooks := group.child("hooks")
	if hooks == nil || hooks.kind != '[' {
		r.report(Ignored, group.line, key, "has no list of hooks: it is ignored")
		return
	}
	r.misspelt(key, group, groupFields)
	for i, n := range hooks.elements {
		h := Hook{
			Origin: r.file.origin(n.line), Event: event, Matcher: matcher, JSON: n.json(), Lenient: r.lenient,
			Path: []string{"hooks", event, strconv.Itoa(at), "hooks", strconv.Itoa(i)},
		}
		if problem := cmp.Or(fault, h.read(n)); problem != "" {
			at := fmt.Sprintf("%s.hooks[%d]", key, i)
			h.Fault = fmt.Errorf("it is not set up correctly: %s: %s", at, problem)
			then := "the hook does not run"
			if h.Blocks() {
				then += ", and what it guards is blocked"
			}
			r.report(Ignored, n.line, at, problem+": "+then)
		}
		r.misspelt(fmt.Sprintf("%s.hooks[%d]", key, i), n, hookFields)
		r.hooks = append(r.hooks, h)
	}
}

// misspelt reports fields that do not exist. A field that resembles another was meant to
// guard, by its matcher or on_error, and does not, nor does a hook's field beside the matcher;
// the rest may belong to another program.
func (r *hookReader) misspelt(key string, object *node, fields map[string]shape) {
	for _, m := range object.members {
		if _, known := fields[m.name]; known {
			continue
		}
		kind, text := Unknown, unknownKey(m.name, fields)
		if _, ofHook := hookFields[m.name]; ofHook {
			kind, text = Ignored, "has no effect beside the matcher: write it into each of the hooks"
		} else if len(near.Names(m.name, slices.Collect(maps.Keys(fields)), 1)) > 0 {
			kind = Ignored
		}
		r.report(kind, m.line, key+"."+m.name, text)
	}
}

// groupFields are the fields of hooks with one matcher.
var groupFields = map[string]shape{"matcher": aText, "hooks": anObject}

// hookFields are the fields of a hook. Their types are checked by read. Those after env are
// Claude Code's, and have no effect here.
var hookFields = map[string]shape{
	"type": aText, "command": aText, "args": textList, "url": aText, "headers": anObject, "prompt": aText, "model": aText, "timeout": aNumber, "on_error": aText, "if": aText,
	"async": aFlag, "preview": aFlag, "env": textList, "allowedEnvVars": textList,
	"statusMessage": aText, "once": aFlag, "continueOnBlock": aFlag, "shell": aText, "asyncRewake": aFlag,
}

// read decodes the fields of a hook; its result says what is wrong. It decodes as much as
// it can, so that a hook with a fault still says when it should run and whether it blocks.
func (h *Hook) read(n *node) (problem string) {
	wrong := func(text string) { problem = cmp.Or(problem, text) }
	for _, f := range []struct {
		name string
		into *string
	}{{"type", &h.Type}, {"command", &h.Command}, {"url", &h.URL}, {"prompt", &h.Prompt}, {"model", &h.Model}, {"on_error", &h.OnError}, {"if", &h.If}} {
		if v := n.child(f.name); v != nil {
			var ok bool
			if *f.into, ok = v.text(); !ok {
				wrong(f.name + " must be a string")
			}
		}
	}
	if v := n.child("timeout"); v != nil {
		seconds, err := strconv.ParseFloat(string(v.literal), 64)
		if err != nil || seconds <= 0 || seconds > 24*60*60 {
			wrong("timeout must be a number of seconds, at most a day")
		} else {
			h.Timeout = time.Duration(seconds * float64(time.Second))
		}
	}
	for _, f := range []struct {
		name string
		into *bool
	}{{"async", &h.Async}, {"preview", &h.Preview}} {
		if v := n.child(f.name); v != nil {
			if *f.into = v.kind == 't'; !*f.into && v.kind != 'f' {
				wrong(f.name + " must be true or false")
			}
		}
	}
	if h.Preview && h.Event != "PreToolUse" {
		wrong("preview is only for PreToolUse hooks")
	}
	wrong(h.readOnError())
	wrong(h.readLists(n))
	wrong(h.check())
	return problem
}

func (h *Hook) readOnError() (problem string) {
	switch was := h.OnError; was {
	case "", "continue", "block":
	case "allow": // its first name
		h.OnError = "continue"
	default:
		h.OnError = ""
		return fmt.Sprintf("on_error must be continue or block, not %q", was)
	}
	return ""
}

func (h *Hook) readLists(n *node) (problem string) {
	for _, list := range []string{"env", "allowedEnvVars"} {
		if v := n.child(list); v != nil {
			for _, e := range v.elements {
				name, ok := e.text()
				if !ok {
					return list + " must be a list of variable names"
				}
				h.Env = append(h.Env, name)
			}
		}
	}
	if v := n.child("args"); v != nil {
		h.Args = []string{}
		for _, e := range v.elements {
			arg, ok := e.text()
			if !ok {
				return "args must be a list of strings"
			}
			h.Args = append(h.Args, arg)
		}
		if v.kind != '[' {
			return "args must be a list of strings"
		}
	}
	if v := n.child("headers"); v != nil {
		h.Headers = map[string]string{}
		for _, m := range v.members {
			value, ok := m.value.text()
			if !ok {
				return "headers must be strings"
			}
			h.Headers[m.name] = value
		}
	}
	return ""
}

func (h *Hook) check() (problem string) {
	switch {
	case h.Type == "command" && h.Command == "":
		return "a command hook needs a command"
	case h.Type == "http" && h.URL == "":
		return "an http hook needs a url"
	case (h.Type == "prompt" || h.Type == "agent") && h.Prompt == "":
		return "a " + h.Type + " hook needs a prompt"
	case !slices.Contains([]string{"command", "http", "prompt", "agent"}, h.Type):
		return fmt.Sprintf("haft does not support the type %q, only command, http, prompt and agent", h.Type)
	}
	return ""
}
