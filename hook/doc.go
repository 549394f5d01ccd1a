// Package hook runs the user's programs and functions at fixed points of a session:
// before and after a tool call, when permission is asked, when a prompt is sent, when
// a session starts, when a turn ends.
//
// A [Hook] is a shell command, a URL or a Go function. It gets an [Input] as JSON and answers
// with an [Output] as JSON, or by its exit code: 0 is no objection, 2 blocks and its error
// output says why, anything else is an error of the hook. Output that looks like an answer but
// cannot be parsed is also an error. An error blocks if [Hook.Block] says so; otherwise the
// model is told once that the hook is missing. A hook that cannot start is an error, even if
// the shell reports this with exit code 2.
//
//	runner := hook.New(hooks, &hook.Options{Project: dir, Report: report})
//	defer runner.Close()
//	outcome := runner.Fire(ctx, "", hook.UserPromptSubmit{Prompt: text})
//
// A [Runner] also has the methods that a scheduler calls for every tool call: Before,
// After and Ask.
//
// The hooks of an event run in parallel. Their answers are combined in the order of
// configuration, so that the result does not depend on which was faster: deny overrides
// ask, and ask overrides allow. A hook can tighten but not loosen: a caller that gets an
// Allow from here must still apply the rules.
//
// Trust: hooks run with the user's rights and without confinement. They belong to the
// user or, once trusted, to the project (package internal/guard/trust); nothing here checks that. They
// do not get the keys of model providers unless they name them. Output and time are
// limited; a command that runs out of time is killed with its process group. Programs
// that it moved to another group survive.
//
// Runners are safe for concurrent use. The caller closes them. Close gives background hooks a
// moment to finish, then stops them.
package hook
