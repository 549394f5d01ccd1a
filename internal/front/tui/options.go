package tui

import (
	"context"
	"io"

	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
)

// Options are what a person sits in front of.
type Options struct {
	// In brings what is typed, Out is the terminal.
	In  io.Reader
	Out io.Writer
	// Size is that of the terminal; Resized brings new ones, nil none.
	Size    Size
	Resized <-chan Size
	// Now asks for the size before each frame: one that is laid out for the size before would
	// be broken into other rows than it is thought to have, and leave some of them behind. Nil
	// relies on Resized, which comes later.
	Now func() Size
	// Palette is how things look, Light how they do if the terminal says that its
	// background is a light one; nil does not ask it.
	Palette style.Palette
	Light   *style.Palette
	// Open begins or resumes a conversation. Calls that the rules leave open are
	// asked about through person.
	Open func(ctx context.Context, o Opening, person Person) (*Talk, error)
	// Sessions are those that can be resumed.
	Sessions Sessions
	// Setup lets the person say which model answers; nil means that they cannot.
	Setup Setup
	// First is the conversation to begin with, Prompt what is said first; "" waits
	// for the person.
	First  Opening
	Prompt string
	// History has what was written before; nil has nothing and keeps nothing.
	History History
	// Edit lets the person change a text in an editor; nil means that there is none.
	// The terminal is the editor's until it returns.
	Edit func(text string) (string, error)
	// EditFile does the same with a file.
	EditFile func(path string) error
	// Login logs in to an MCP server; show is given the page to log in at. Nil means that
	// nobody can.
	Login func(ctx context.Context, server string, show func(page string)) error
	// Clipboard is that of the desktop; nil means that there is none.
	Clipboard Clipboard
	// Suspend stops the process until its shell lets it go on; nil means that it
	// cannot be. The terminal is the shell's until it returns.
	Suspend func() error
	// Alternate says that the terminal has an alternate screen: see [HasAlternate].
	Alternate bool
	// Notify makes the notification that a text is shown in where the user looks elsewhere; nil
	// only rings.
	Notify func(text string) string
	// Title names the terminal's window while haft runs.
	Title bool
	// Lang has the messages, nil those in English. FixedLang says that the settings do not
	// choose another.
	Lang      *lang.Catalogue
	FixedLang bool
	// FixedTheme says that the settings do not choose other colours.
	FixedTheme bool
	// Version is shown at the beginning.
	Version string
	// ToolsOn is the machine where the tools run, and ToolsDir their folder there; "" means that
	// they run here.
	ToolsOn, ToolsDir string
}

// Size is that of a terminal.
type Size struct{ Width, Height int }

// An Opening says which conversation.
type Opening struct {
	// Resume is the session to go on with, At the message to go on after; "" means
	// a new one, or the end. Continue goes on with the newest one of the folder.
	Resume, At string
	Continue   bool
	// Choose lets the user choose a session first.
	Choose bool
	// Kept is what the conversation before it passes on; nil means nothing.
	Kept *harness.Kept
	// Shown says that what was said is on the screen already.
	Shown bool
	// Note is what the user is told after what was said; "" for nothing.
	Note string
}
