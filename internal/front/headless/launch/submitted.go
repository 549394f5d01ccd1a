package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
)

// A clientUse is what a client of a server may use a flag for.
type clientUse int

const (
	// ofSession is a flag that asks for less than the owner of the server allows, or that a
	// client may decide anyway. It is kept with a session that is submitted, and applies again
	// when the session is resumed.
	ofSession clientUse = iota + 1
	// ofProgram is a flag that says which session it is, or how a program that leads its
	// conversation over a connection talks with it.
	ofProgram
)

// clientFlags are the flags that a client of a server can give to its sessions. Those that are
// missing here bring commands that run on the server (settings, plugins, MCP servers,
// definitions of agents), trust a folder, leave out a settings file that denies something, keep
// the session from its owner, or name files of another machine.
var clientFlags = map[string]clientUse{
	"model": ofSession, "fallback-model": ofSession, "agent": ofSession, "effort": ofSession, "thinking": ofSession,
	"thinking-display": ofSession, "max-thinking-tokens": ofSession, "betas": ofSession, "task-budget": ofSession,
	"permission-mode": ofSession, "allowedTools": ofSession, "allowed-tools": ofSession, "disallowedTools": ofSession,
	"disallowed-tools": ofSession, "tools": ofSession, "disable-slash-commands": ofSession, "system-prompt": ofSession,
	"append-system-prompt": ofSession, "json-schema": ofSession, "name": ofSession, "add-dir": ofSession,
	"strict-mcp-config": ofSession, "max-turns": ofSession, "max-budget-usd": ofSession, "max-time": ofSession,
	"include-partial-messages": ofSession, "include-hook-events": ofSession, "include-tool-progress": ofSession, "forward-subagent-text": ofSession,
	"replay-user-messages": ofSession,

	"input-format": ofProgram, "output-format": ofProgram, "verbose": ofProgram, "print": ofProgram, "await-initialize": ofProgram,
	"resume": ofProgram, "resume-session-at": ofProgram, "resume-drops-turn": ofProgram, "continue": ofProgram, "fork-session": ofProgram,
	"session-id": ofProgram, "session-mirror": ofProgram, "permission-prompts": ofProgram,
	"permission-prompt-tool": ofProgram, // only stdio: the program itself
	"mcp-config":             ofProgram, // only servers inside the program
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
		if clientFlags[name] != ofSession {
			err = errors.Join(err, notForClients(flag.Name))
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

// errBypass is why permissions cannot be turned off by a client.
var errBypass = errors.New("permissions can only be turned off in a terminal")

func notForClients(flag string) error {
	if flag == "dangerously-skip-permissions" || flag == "allow-dangerously-skip-permissions" {
		return errBypass
	}
	return fmt.Errorf("--%s cannot be used for a session on a server", flag)
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

// Program reads the flags of a program that leads its conversation on a server, as [Parse] does
// for one that starts haft. Flags that a client cannot use are an error.
func Program(args []string, version string, warnings io.Writer) (*headless.Options, error) {
	o, err := parse(args, version, warnings, checkProgram)
	if err != nil {
		return nil, err
	}
	if o.Harness.Mode == string(permission.Bypass) || o.Harness.MayBypass {
		return nil, errBypass
	}
	if err := inProgram(o.Talk.MCP.Entries); err != nil {
		return nil, err
	}
	o.Guest = true
	return o, nil
}

// inProgram leaves of the servers of a program only that they are inside of it. It judges the
// entries that will run, every one of them, and keeps nothing else that they say: variables in it
// would be filled in with those of this machine.
func inProgram(entries []config.Entry) error {
	for i := range entries {
		var server mcp.Server
		if json.Unmarshal(entries[i].Raw, &server) != nil || server.Type != mcp.SDK {
			return errForeignServer
		}
		entries[i].Raw = json.RawMessage(`{"type":"sdk"}`)
	}
	return nil
}

// errForeignServer is why a program cannot bring a server that runs on this machine.
var errForeignServer = errors.New("--mcp-config cannot be used for a session on a server, except for servers that run inside the program")

// checkProgram refuses what a program cannot be given on a server. Flags that have no effect
// anywhere are accepted here, too.
func checkProgram(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(flag *pflag.Flag) {
		noEffect := slices.ContainsFunc(foreign, func(f foreignFlag) bool { return f.name == flag.Name })
		if clientFlags[flag.Name] == 0 && !noEffect {
			err = errors.Join(err, notForClients(flag.Name))
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			err = errors.Join(err, checkProgramValue(flag.Name, v))
		}
	})
	return err
}

// checkProgramValue refuses values of the flags that a program may only use for itself.
func checkProgramValue(flag, value string) error {
	switch flag {
	case "permission-prompt-tool":
		if value != "stdio" {
			return fmt.Errorf("--%s %q cannot be used for a session on a server: only stdio can, which asks the program", flag, visible.Indented(value))
		}
	case "mcp-config":
		if !isObject(value) { // the name of a file of this machine
			return errForeignServer
		}
	case "add-dir":
		_, err := elsewhere(flag, value, false)
		return err
	}
	return nil
}
