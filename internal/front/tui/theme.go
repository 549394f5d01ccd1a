package tui

import (
	"os"

	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/lang"
)

// themes are those that /theme offers.
var themes = []struct {
	name style.Background
	does lang.Text
}{
	{style.Auto, "match the terminal"},
	{style.Dark, "for a dark background"},
	{style.Light, "for a light background"},
	{style.DarkBlind, "for a dark background, without red and green"},
	{style.LightBlind, "for a light background, without red and green"},
	{style.DarkBasic, "for a dark background, with the terminal's sixteen colours"},
	{style.LightBasic, "for a light background, with the terminal's sixteen colours"},
	{style.Plain, "without colours"},
}

// theme changes the colours, and keeps them for later sessions.
func (a *app) theme(name string) {
	if name != "" {
		if a.useTheme(name) {
			a.local("config", "theme "+name+" user")
			return
		}
		a.note(a.t("There is no theme %s.", name))
		return
	}
	var items []pick
	for _, t := range themes {
		items = append(items, pick{value: string(t.name), text: string(t.name), detail: a.t(t.does)})
	}
	a.pop(&picker{title: a.t("Which theme?"), items: items, choose: func(p pick) {
		a.closeOwn()
		a.theme(p.value)
	}})
}

// useTheme draws in the colours of a theme from now on. It reports false for one that does
// not exist.
func (a *app) useTheme(name string) bool {
	for _, t := range themes {
		if string(t.name) != name {
			continue
		}
		if t.name == style.Auto {
			a.paint = a.opts.Palette
			if a.light && a.opts.Light != nil {
				a.paint = *a.opts.Light
			}
			a.themed = false
			return true
		}
		a.paint, a.themed = style.Of(t.name).Fine(os.Getenv), true
		return true
	}
	return false
}

// prefer takes over what the settings say about the screen: the language, the colours and the
// keys of the editor, unless the user has said otherwise for now.
func (a *app) prefer() {
	defer func() { a.talk.Driver.Speak(a.lang) }()
	for _, s := range a.talk.Rules.Settings() {
		switch {
		case s.Value == "":
		case s.Key == "uiLanguage" && !a.opts.FixedLang:
			if words, err := lang.Load(s.Value); err == nil {
				a.lang = words
			}
		case s.Key == "theme" && !a.opts.FixedTheme:
			a.useTheme(s.Value)
		case s.Key == "editorMode" && !a.preferred:
			a.write.Vim(s.Value == "vim")
		}
	}
	a.preferred = true
}

// vim switches vim's keys on or off.
func (a *app) vim(string) {
	a.write.Vim(a.write.VimMode() == "")
	mode := "normal"
	text := a.t("The usual keys are active again.")
	if a.write.VimMode() != "" {
		mode, text = "vim", a.t("vim keys are active: esc for normal mode, i to insert. /vim switches back.")
	}
	a.show.add(&note{text: text, quiet: true})
	a.local("config", "editorMode "+mode+" user")
}
