package launch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/visible"
)

// submittable are the flags that a session on another machine can be given. They are kept
// with the session, so that whoever continues it has them. Those that are missing here say
// which session it is, how this process talks, or what the owner of a machine decides.
var submittable = []string{
	"model", "fallback-model", "agent", "agents", "effort", "thinking", "thinking-display", "max-thinking-tokens", "betas", "task-budget",
	"permission-mode", "preview", "dangerously-skip-permissions", "allow-dangerously-skip-permissions", "allowedTools", "allowed-tools", "disallowedTools", "disallowed-tools",
	"permission-prompt-tool", "permission-prompts", "restricted", "tools", "bare", "disable-slash-commands",
	"system-prompt", "append-system-prompt", "json-schema", "name", "add-dir", "plugin-dir",
	"settings", "setting-sources", "managed-settings", "mcp-config", "strict-mcp-config", "trust-project", "ignore-project-hooks", "ignore-bad-rules",
	"max-turns", "max-budget-usd", "max-time", "include-partial-messages", "include-hook-events", "forward-subagent-text", "replay-user-messages",
}

// inFiles are the flags whose value may be the name of a file.
var inFiles = []string{"settings", "mcp-config", "agents"}

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
			if isText || slices.Contains(inFiles, name) && !strings.HasPrefix(strings.TrimSpace(v), "{") {
				text, readErr := inline(flag.Name, v, files)
				err = errors.Join(err, readErr)
				v = text
			}
			args = append(args, "--"+name+"="+v)
		}
	})
	if err != nil {
		return nil, err
	}
	return args, nil
}

// inline is the content of the file that a flag names.
func inline(flag, file string, files bool) (string, error) {
	if !files {
		return "", fmt.Errorf("--%s %q names a file, and a session on another machine needs its content", flag, visible.Indented(file))
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--%s: %w", flag, err)
	}
	return string(raw), nil
}
