// Package settings reads the settings of users, projects and administrators, and
// adds rules to those files.
//
// [Load] reads the settings files of a session, each a JSON object that may have
// comments and trailing commas:
//
//	managed   /etc/haft/managed-settings.json    /etc/claude-code/managed-settings.json
//	flag      what --settings names
//	local     .haft/settings.local.json          .claude/settings.local.json
//	project   .haft/settings.json                .claude/settings.json
//	user      ~/.haft/settings.json              ~/.claude/settings.json
//
// A file on the left takes precedence over its neighbour on the right, and a line over
// those below it. Single values come from the first file that has them; lists are joined.
// The project's .mcp.json is read too, but only for its servers.
//
// Loading never fails because of the content of a file: a file that cannot be parsed is left
// out and reported by [Settings.Problems]. Unknown keys are kept and reported. Every value has
// its file and line.
//
// [AddRule] and [RemoveRule] change one rule of a file and no other byte.
//
// Trust: files of the project and local sources may be written by the authors of the
// repository. They are read with limits on size and depth, never through a link that
// leaves the project, and nothing in them is expanded, included or run. What takes
// effect is decided elsewhere (package internal/guard/trust), with [Settings.Prune].
//
// Settings and files are immutable and safe for concurrent use. There is nothing
// to close.
package settings
