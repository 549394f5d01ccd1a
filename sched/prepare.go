package sched

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/guard/output"
	"github.com/haftdev/haft/internal/text/jsonstream"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// prepare looks up the tool and checks the shape of the input. If something is wrong, it
// returns the outcome; nil means that the call can be queued. It affects nothing but the
// execution.
func (f *execution) prepare(in *jsonstream.Object) *Outcome {
	t := f.batch.tools.Called(f.called)
	if t == nil {
		return f.refuse(Unknown, f.noSuchTool())
	}
	f.tool = t
	raw, err := in.Close()
	if err != nil {
		f.out.Input = in.Raw()
		return f.refuse(Invalid, fmt.Sprintf("InputValidationError: %s was not run: its input could not be read: %s", t.Name, err))
	}
	return f.check(raw, false)
}

// check makes raw the call's input if it has the right shape. Internal input comes from the
// tool itself and may have hidden fields.
func (f *execution) check(raw []byte, internal bool) *Outcome {
	opts := f.batch.tools.Session().ViewOptions()
	opts.Internal = internal
	fixed, repairs, err := f.tool.Input.View(opts).Check(raw)
	f.out.Input = raw
	if err != nil {
		return f.refuse(Invalid, f.misshapen(err))
	}
	f.call = f.call.WithInput(fixed)
	f.out.Input = fixed
	f.out.Repairs = append(f.out.Repairs, repairs...)
	return nil
}

// examine finds the facts of the call as it arrived. That is done when it is the call's turn,
// because the calls before it may have changed the directory, or files that the facts depend
// on.
func (f *execution) examine() *Outcome {
	f.call, f.out.Repairs, f.facts = f.arrived, f.out.Repairs[:f.repaired], nil
	f.find()
	return nil
}

// find makes relative paths absolute and finds the facts of the call, once for an input in a
// directory.
func (f *execution) find() {
	call := *f.call
	if f.batch.opts.Dir != nil {
		call.Dir = f.batch.opts.Dir(f.batch.agent)
		fixed, repairs := f.tool.Input.View(f.batch.tools.Session().ViewOptions()).Resolve(call.Input, call.Dir)
		if len(repairs) > 0 {
			call = *call.WithInput(fixed)
			f.out.Input = fixed
			f.out.Repairs = append(f.out.Repairs, repairs...)
		}
	}
	f.facts = f.tool.Find(&call, f.facts)
	call.Facts = f.facts
	f.call = &call
}

func (f *execution) misshapen(err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "InputValidationError: %s was not run: %s", f.tool.Name, err)
	var invalid *schema.Invalid
	if errors.As(err, &invalid) && f.deferred() {
		fmt.Fprintf(&b, "\nThis tool has not been described to you yet. Its input schema: %s", f.batch.tools.View(f.tool).JSON())
	}
	return b.String()
}

// deferred reports whether the model knows the tool by name only.
func (f *execution) deferred() bool {
	for _, t := range f.batch.tools.Deferred() {
		if t == f.tool {
			return true
		}
	}
	return false
}

// elsewhere has the names that other agents use for our tools.
var elsewhere = map[string]string{
	"ls": "Glob", "list_files": "Glob", "listfiles": "Glob", "list_dir": "Glob", "find": "Glob", "find_files": "Glob",
	"search": "Grep", "search_files": "Grep", "ripgrep": "Grep", "rg": "Grep",
	"notebookread": "Read", "view": "Read", "cat": "Read", "open": "Read", "open_file": "Read",
	"str_replace_editor": "Edit", "str_replace_based_edit_tool": "Edit", "str_replace": "Edit", "apply_patch": "Edit", "replace": "Edit",
	"create_file": "Write", "create": "Write", "shell": "Bash", "terminal": "Bash", "run_command": "Bash", "execute_command": "Bash", "exec": "Bash",
	"fetch": "WebFetch", "browser": "WebFetch", "ask": "AskUserQuestion",
}

// noSuchTool tells the model which tool it may have meant.
func (f *execution) noSuchTool() string {
	tools, name := f.batch.tools, f.called
	if missing := f.batch.opts.Missing; missing != nil {
		if why := missing(name); why != "" {
			return fmt.Sprintf("No such tool available: %q. %s", output.Shorten(name, 100), why)
		}
	}
	if needs, ok := tools.Disabled(name); ok {
		if needs == "" {
			needs = "what it needs is missing or turned off"
		}
		return name + " cannot be used in this session: " + needs + ". Do not assume what it would have answered. Continue without it, or say what you need and end your turn."
	}
	names := tools.Session().Tools
	if other := elsewhere[strings.ToLower(name)]; slices.Contains(names, other) {
		return fmt.Sprintf("No such tool available: %q. Use %s.", name, other)
	}
	b := fmt.Sprintf("No such tool available: %q.", output.Shorten(name, 100))
	if hint := near.Hint(name, names); hint != "" {
		return b + hint
	}
	const most = 60
	switch {
	case len(names) == 0:
		return b + " There are no tools in this session."
	case len(names) > most:
		return fmt.Sprintf("%s There are %d tools; find one with %s.", b, len(names), tool.SearchName)
	}
	return b + " Available: " + strings.Join(names, ", ") + "."
}
