// Package haft drives an agent from Go. It starts the command line (haft, or
// any other that speaks the same protocol), sends it prompts, and gives back
// what happens as typed messages. All tools run in the command line; this
// package only forwards.
//
// One question:
//
//	result, err := haft.Ask(ctx, "What does this repository do?", nil)
//
// The messages of one question, as they happen:
//
//	for m, err := range haft.Query(ctx, "Fix the failing test", &haft.Options{Mode: haft.AcceptEdits}) {
//		if err != nil {
//			return err
//		}
//		if a, ok := m.(*haft.Assistant); ok {
//			fmt.Println(haft.TextOf(a))
//		}
//	}
//
// An answer as a Go value: [QueryInto]. Many turns, with control over the
// running session: [NewClient]. Decisions about calls: [Options.CanUseTool].
// Functions around calls: [Options.Hooks]. Functions that the model can call:
// [NewTool] and [Tools]. Sessions of the past: [Sessions].
//
// The command line is the executable in [Options.CLI], else in the environment
// variable HAFT_CLI, else haft in the PATH. Another [Transport] can take the
// place of the process.
//
// # Life cycle
//
// A query or client owns its process: it ends with the query's last message,
// with [Client.Close], or with the context, whichever is first; leaving the
// loop over a query ends it, too. Ending early means that the turn is
// interrupted and input is closed; if the process is still there after
// [Options.Grace] it is asked to terminate, and after that again it is killed
// with everything in its process group. When Query's loop or Close returns, the
// process and all goroutines of this package are gone.
//
// # Concurrency
//
// Clients are safe for concurrent use, except that only one loop at a time may
// read messages. Callbacks (permission, hooks, tools) run on their own
// goroutines, several at once, and their contexts end when the command line no
// longer wants the answer.
//
// # Trust
//
// The command line runs with the rights and, unless [Options.Env] says
// otherwise, the environment of this program. What it may do there is decided
// by its permission mode and rules, and by the callbacks.
package haft
