// Package settings reads what people, projects and administrators have set, and
// keeps rules in those files.
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
// A file on the left goes before its neighbour on the right, a line before those
// below it. Single values come from the first file that has them; lists are joined.
// The project's .mcp.json is read too, for its servers alone.
//
// Loading never fails because of what a file says: a file that cannot be
// understood is left out, and [Settings.Problems] tells. Keys that haft does not
// know are kept and reported. Every value knows its file and line.
//
// [AddRule] and [RemoveRule] change one rule of a file and no other byte.
//
// Trust model: files of the project and local sources are written by the authors
// of the repository. They are read with bounds on size and depth, never
// through a link that leaves the project, and nothing in them is expanded,
// included or run. Whether what they say counts is decided elsewhere (package
// permission/trust), by means of [Settings.Prune].
//
// Settings and files are immutable and safe for concurrent use. There is nothing
// to close.
package settings
