package tui

import (
	"time"
)

// bindings are what keys do at the prompt, besides writing.
func bindings() []binding {
	return []binding{
		{[]string{"enter"}, "send", (*app).enter},
		{[]string{"up", "ctrl+p"}, "move up, then through your earlier prompts; while haft works, take back a queued message", (*app).up},
		{[]string{"down", "ctrl+n"}, "move down, then to your later prompts", func(a *app) { a.write.Down() }},
		{[]string{"tab"}, "complete; on an empty line, accept the suggestion; with a question open, move to it", (*app).tab},
		{[]string{"shift+tab"}, "change the permission mode: ask first, plan only, allow edits", (*app).nextMode},
		{[]string{"esc"}, "interrupt and take back queued messages; twice: go back to an earlier message", (*app).escape},
		{[]string{"ctrl+c"}, "clear the input; if it is empty, interrupt; twice: quit", (*app).stop},
		{[]string{"ctrl+d"}, "leave", (*app).leave},
		{[]string{"ctrl+o"}, "show the transcript with calls and thoughts in full; / searches it", (*app).openTranscript},
		{[]string{"ctrl+g"}, "write in your editor (VISUAL, EDITOR)", (*app).edit},
		{[]string{"ctrl+b"}, "move the running command to the background; otherwise list what runs there", (*app).background},
		{[]string{"ctrl+t"}, "show or hide the todos", (*app).toggleTodos},
		{[]string{"ctrl+v"}, "attach the image in the clipboard", (*app).pasteImage},
		{[]string{"ctrl+r"}, "search your earlier prompts", (*app).searchHistory},
		{[]string{"ctrl+l"}, "clear the screen; its contents stay in the scrollback", (*app).redraw},
		{[]string{"ctrl+z"}, "suspend haft; fg brings it back", (*app).suspend},
		{[]string{"?"}, "on an empty line: show these keys", (*app).showKeys},
	}
}

// twice is how close two keys are that are meant as one.
const twice = 800 * time.Millisecond

// editsAccepted is why a call may run that waited when the mode was changed.
const editsAccepted = "the user allowed all edits in the project"
