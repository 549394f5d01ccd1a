// Package hook runs programs and functions of the user's at fixed points of a
// session: before and after a tool call, when permission is asked, when a prompt
// is sent, a session starts, a turn ends.
//
// A [Hook] is a shell command, a URL or a Go function. It gets an [Input] as JSON
// and answers with an [Output] as JSON, or by its exit code: 0 is no objection, 2
// blocks and its error output says why, anything else is an error of the hook.
// So is output that looks like an answer and cannot be read as one. An error blocks
// if the hook guards something and does not say on_error: continue; a hook that cannot
// even start is an error, also where the shell reports that as 2.
//
//	runner := hook.New(hook.FromSettings(s.Hooks()), &hook.Options{Project: dir, Report: report})
//	defer runner.Close()
//	outcome := runner.Fire(ctx, "", hook.UserPromptSubmit{Prompt: text})
//
// A [Runner] also has the methods that a scheduler calls for every tool call,
// no matter who makes it: Before, After and Ask.
//
// The hooks of an event run side by side. What they say is put together in the
// order of configuration, so that the result does not depend on which was faster:
// deny goes over ask, ask over allow. A hook may tighten and not loosen: the
// caller that gets an Allow from here must still apply the rules.
//
// Trust model: hooks run with the user's rights and without confinement. They are
// the user's or, once trusted, the project's (package trust); nothing
// here checks that. They do not get the keys of model providers unless they name
// them. What a hook prints is bounded; how long it runs is bounded; a command that
// runs out of time is killed with its process group. Programs it moved to another
// group stay.
//
// Runners are safe for concurrent use. The caller closes one, which gives the
// hooks that nobody waits for a moment to finish, and then ends them.
package hook
