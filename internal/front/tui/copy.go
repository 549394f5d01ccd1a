package tui

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"
)

// copyAnswer puts the last answer into the clipboard.
func (a *app) copyAnswer(string) {
	for _, r := range slices.Backward(a.records) {
		if r.answer {
			a.copyText(a.t("the last answer"), strings.TrimSpace(r.text))
			return
		}
	}
	a.hint = a.t("there is no answer to copy yet")
}

// export writes the conversation to a file, or into the clipboard.
func (a *app) export(args string) {
	if args != "clipboard" {
		a.local("export", args)
		return
	}
	talk := a.talk
	go func() {
		text, err := talk.Past.Markdown(a.ctx)
		a.later(func() {
			a.dirty = true
			if err != nil {
				a.note(a.t("Could not export the conversation: %s", err))
				return
			}
			a.copyText(a.t("the conversation"), text)
		})
	}()
}

// maxOSC52 is how much is sent to the terminal for its clipboard: terminals drop more.
const maxOSC52 = 74_000

// copyText puts a text into the clipboard: by the terminal, which also works from another
// machine, and by a program of the desktop, for terminals that do not know how.
func (a *app) copyText(what, text string) {
	byTerminal := len(text) <= maxOSC52
	if byTerminal {
		a.opts.Out.Write([]byte("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a")) // an error is seen at the next frame
	}
	clipboard := a.opts.Clipboard
	go func() {
		var err error
		if clipboard != nil {
			ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
			defer cancel()
			err = clipboard.Copy(ctx, text)
		}
		a.later(func() {
			a.dirty = true
			if err != nil && !byTerminal {
				a.note(a.t("Could not copy: the text is too long for the terminal's clipboard, and %v.", err))
				return
			}
			a.show.add(&note{text: a.t("Copied %s to the clipboard (%s).", what, a.lang.Count(len([]rune(text)), "character")), quiet: true})
		})
	}()
}
