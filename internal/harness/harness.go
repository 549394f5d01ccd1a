// Package harness puts haft together for one folder: the tools with the world they act
// on, the policy, the hooks, and conversations. Every front end opens one and adds what
// is its own: how the user is asked, what is shown.
//
//	w, err := harness.Open(&harness.Options{Reexec: shellrun.Supervise()})
//	defer w.Close()
//	c, err := w.Talk(ctx, nil)
//
// State flows one way: a [project.Project] is what is set, a [World] what tools act on, a
// [Conversation] what happens. None of them knows the next; what happens below a
// conversation reaches it by a [link.Link].
//
// A World is safe for concurrent use.
package harness

import "github.com/haftdev/haft/internal/harness/project"

// Options say which folder, and what the user adds to its settings.
type Options = project.Options
