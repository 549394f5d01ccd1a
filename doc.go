// Package haft runs an agent from a Go program. It starts the command line (haft,
// or another that speaks the same protocol), sends prompts, and returns what
// happens as typed messages. The tools run in the command line.
//
// Ask one question:
//
//	result, err := haft.Ask(ctx, "What does this repository do?", nil)
//
// Follow the messages as they arrive:
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
// For more, see:
//   - [QueryInto] for an answer as a Go value
//   - [NewClient] for a conversation of many turns
//   - [Options.CanUseTool] to decide about calls, [Options.Hooks] to run functions around them
//   - [NewTool] and [Tools] for Go functions that the model can call
//   - [Sessions] for past sessions
//
// The command line is the executable in [Options.CLI], or else the one in the
// environment variable HAFT_CLI, or else haft in the PATH. A [Transport] can replace
// the process.
//
// # Life cycle
//
// A query or client owns its process. The process ends with the query's last
// message, with [Client.Close], or when the context is cancelled, whichever is
// first. Leaving the loop over a query also ends it. To end early, the package
// interrupts the turn and closes the input; if the process is still there after
// [Options.Grace], it is asked to terminate, and after another Grace it is killed
// with its process group. When Query's loop or Close returns, the process and all
// goroutines of this package are gone.
//
// # Concurrency
//
// Clients are safe for concurrent use, except that only one loop at a time may
// read messages. Callbacks (permission, hooks, tools) run on their own
// goroutines, several at once. Their contexts are cancelled when the command line
// no longer needs the answer.
//
// # Trust
//
// The command line has the rights of this program and, unless [Options.Env] is
// set, its environment. What it may do with them is decided by its permission mode,
// by rules and by the callbacks.
package haft
