// Package tui is haft on a terminal: a person writes, the model's answer streams
// in, its calls are shown as they happen, and questions about them are answered.
//
//	err := tui.Run(ctx, &tui.Options{In: keys, Out: terminal, Open: open, …})
//
// It draws from the agent's events and nothing else. What is finished goes into
// the terminal's own scrollback, where it can be searched and copied; only the
// live tail below it is drawn anew (package tui/screen). So a frame costs what is
// on the screen, however long the conversation is, and nothing at all while
// nothing happens.
//
// A question that appears while somebody types is never answered by what they
// type: keys go to the composer until a pause, and then until the person turns to
// the question with a key of its own; see [dialog].
//
// Everything happens in the goroutine of Run. Others hand it functions: those who
// ask, those who read keys, the agent's stream.
//
// Trust model: every text that a model, a tool, a file or a server wrote is made
// visible before it is drawn: nothing in it can move the cursor, hide, or forge a
// question. Only the person's keys approve a call, and only of the question that
// they see.
package tui
