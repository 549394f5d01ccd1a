package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/world/shellrun"
)

// A subcommand is built when a command line may name it.
type subcommand struct {
	names []string // the name and its aliases
	// One of these builds it: with the supervisor of shell commands, or without.
	starts func(Streams, shellrun.Reexec) *cobra.Command
	plain  func(Streams) *cobra.Command
}

func (c subcommand) build(s Streams, reexec shellrun.Reexec) *cobra.Command {
	if c.starts != nil {
		return c.starts(s, reexec)
	}
	return c.plain(s)
}

var subcommands = []subcommand{
	{names: []string{"tools"}, starts: newTools},
	{names: []string{"permissions"}, starts: newPermissions},
	{names: []string{"trust"}, plain: newTrust},
	{names: []string{"doctor"}, starts: newDoctor},
	{names: []string{"mcp"}, starts: newMCP},
	{names: []string{"acp"}, starts: newACP},
	{names: []string{"attach"}, plain: newAttach},
	{names: []string{"serve"}, starts: newServe},
	{names: []string{"connect"}, plain: newConnect},
	{names: []string{"fleet"}, plain: newFleet},
	{names: []string{"demo"}, starts: newDemo},
	{names: []string{"skills"}, plain: newSkills},
	{names: []string{"agents"}, plain: newAgents},
	{names: []string{"commands"}, plain: newCommands},
	{names: []string{"styles"}, plain: newStyles},
	{names: []string{"plugin", "plugins"}, plain: newPlugin},
	{names: []string{"hooks"}, plain: newHooks},
	{names: []string{"sessions"}, plain: newSessions},
	{names: []string{"rewind"}, plain: newRewind},
	{names: []string{"preview"}, starts: newPreview},
	{names: []string{"auth"}, plain: newAuth},
	{names: []string{"version"}, plain: newVersion},
	{names: []string{"completion"}, plain: newCompletion},
	{names: []string{"man"}, plain: func(Streams) *cobra.Command { return newMan() }},
}

// mayNameCommand reports whether any word of a command line is the name of a command, be it the value of a flag or
// part of a prompt: which of them it is, only the commands' flags tell.
func mayNameCommand(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		// The library adds help and those with which shells complete.
		return arg == "help" || arg == cobra.ShellCompRequestCmd || arg == cobra.ShellCompNoDescRequestCmd ||
			slices.ContainsFunc(subcommands, func(s subcommand) bool { return slices.Contains(s.names, arg) })
	})
}
