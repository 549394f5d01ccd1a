package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/visible"
)

// submittable are the flags that a session on another machine can be given: those that ask for
// less than its owner allows, or that a client of the server may decide anyway. Those that are
// missing here say which session it is or how this process talks, or they bring commands that
// run (settings, plugins, MCP servers, definitions of agents), trust a folder, or leave out a
// settings file that denies something. Each is saved with the session and applies again when
// it is resumed.
var submittable = []string{
	"model", "fallback-model", "agent", "effort", "thinking", "thinking-display", "max-thinking-tokens", "betas", "task-budget",
	"permission-mode", "allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools", "tools", "disable-slash-commands",
	"system-prompt", "append-system-prompt", "json-schema", "name", "add-dir", "strict-mcp-config", "max-turns", "max-budget-usd", "max-time",
	"include-partial-messages", "include-hook-events", "forward-subagent-text", "replay-user-messages",
}

// textFiles are the flags that name a file, with those that say the same without one.
var textFiles = map[string]string{"system-prompt-file": "system-prompt", "append-system-prompt-file": "append-system-prompt"}

// Submitted returns the flags of a session that another machine is to run, each as one word.
// A flag that is not known, or that cannot be given to such a session, is an error: one that
// was dropped might have been a restriction. With files, the contents of files take the place
// of their names; without, a name is an error, because the file is not on that machine.
func Submitted(args []string, files bool) ([]string, error) {
	var f Flags
	fs := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	f.Define(fs)
	var wrong error
	kept := known(args, fs, func(word, _ string) {
		wrong = errors.Join(wrong, fmt.Errorf("%q is not a flag of haft", visible.Indented(word)))
	})
	if wrong == nil {
		wrong = fs.Parse(kept)
	}
	if wrong != nil {
		return nil, wrong
	}
	return SubmittedFlags(fs, files, nil)
}

// SubmittedFlags is [Submitted] for flags that were read; those in own, and those that are not
// of a conversation, are left out.
func SubmittedFlags(fs *pflag.FlagSet, files bool, own []string) (args []string, err error) {
	talk := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	new(Flags).Define(talk)
	fs.Visit(func(flag *pflag.Flag) {
		name := flag.Name
		if talk.Lookup(name) == nil || slices.Contains(own, name) {
			return
		}
		plain, isText := textFiles[name]
		if isText && files {
			name = plain
		}
		if !slices.Contains(submittable, name) {
			err = errors.Join(err, fmt.Errorf("--%s cannot be used for a session on another machine", flag.Name))
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			v, readErr := elsewhere(flag.Name, v, files)
			err = errors.Join(err, readErr)
			args = append(args, "--"+name+"="+v)
		}
	})
	if err != nil {
		return nil, err
	}
	return args, nil
}

// elsewhere is the value of a flag as another machine understands it: the content of a file,
// and the whole path of a folder. Without files, it must be so already.
func elsewhere(flag, value string, files bool) (string, error) {
	switch {
	case textFiles[flag] != "":
		raw, err := os.ReadFile(value)
		if err != nil {
			return "", fmt.Errorf("--%s: %w", flag, err)
		}
		return string(raw), nil
	case flag == "add-dir" && files:
		return filepath.Abs(value)
	case flag == "add-dir" && !filepath.IsAbs(value):
		return "", fmt.Errorf("--%s %q: give the full path of a folder", flag, visible.Indented(value))
	}
	return value, nil
}
