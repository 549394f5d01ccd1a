// Package trust decides what of a project's settings counts.
//
// The authors of a repository wrote its settings files, too. Before a user agrees,
// what they say is used only where it makes haft more careful: deny and ask
// rules, and modes that are stricter than the user's own. Everything else that
// could run, connect or loosen is an [Item]: a hook, an MCP server, a helper, an
// allow rule, a folder, a variable, any other setting, and so are the skills,
// commands and agents that a project brings. Each is trusted by itself,
// bound to a hash of exactly what it says and of the project's files it names, so
// that a change asks again for that item and no other. Some things a project can
// never choose, trusted or not: see [Held].
//
//	folder, err := trust.NewStore(path).Folder(project)
//	what, held, err := folder.Filter(all)   // what counts, and what was left out
//	ok := folder.Agreed(claim)              // may this skill be used, as it is now?
//	err = folder.Grant(ctx, items...)       // when a person agreed
//	err = folder.Grant(ctx, folder.Items(all)...) // when they agreed to everything there is
//
// Trust belongs to one repository: its path, device and inode. A repository inside
// another, a worktree and a copy have none until they are given it.
//
// What a hook runs is found in its parsed command: scripts, the operands of
// interpreters, modules, scripts of package.json, recipes of makefiles, patterns and
// variables whose value is known. Where that is not possible, the item is Unbound: it
// can be lent for a session and is never kept.
//
// Trust model: this package reads files of the project to hash them, through no
// link that leaves it, and never runs anything, git included. What remains: a
// trusted script may start others, whose content is not bound; and a file can
// change between the check and the run.
//
// Stores and folders are safe for concurrent use, in many processes too. There is
// nothing to close.
package trust
