// Package style is how things look: a palette of a few roles, for dark and light
// terminals, and none at all.
//
// Roles are values; a style is applied to text that holds no escapes of its own.
// Colours are the terminal's own sixteen, so that they fit whatever theme a person
// has chosen there; only the shades behind changed lines are of the 256, or finer.
package style

import "strings"

// A Style is the inside of an SGR sequence; "" leaves text as it is.
type Style string

// Of returns text in this style.
func (s Style) Of(text string) string {
	if s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// With returns both styles in one.
func (s Style) With(other Style) Style {
	if s == "" || other == "" {
		return s + other
	}
	return s + ";" + other
}

// A Palette is the style of each role.
type Palette struct {
	Bold, Italic, Strike, Underline Style
	Dim                             Style // what is beside the point
	Accent                          Style // what is haft's
	Prompt                          Style // what the person said
	Good, Bad, Warn                 Style
	Code                            Style // in running text
	Link                            Style
	Heading                         Style
	Added, Removed                  Style // changed lines
	AddedWord, RemovedWord          Style // what differs in them
	Selected                        Style
	Keyword, String, Number, Comment,
	Function Style // of highlighted code
}

// Background is what a terminal looks like.
type Background string

// The backgrounds there are. Plain is one on which nothing is coloured.
const (
	Dark  Background = "dark"
	Light Background = "light"
	Plain Background = "plain"
	Auto  Background = "auto" // as the terminal says
	// Without red and green, for those who cannot tell them apart.
	DarkBlind  Background = "dark-daltonized"
	LightBlind Background = "light-daltonized"
	// With the terminal's sixteen colours only.
	DarkBasic  Background = "dark-ansi"
	LightBasic Background = "light-ansi"
)

// Of returns the palette for a background.
func Of(b Background) Palette {
	switch b {
	case Plain:
		return Palette{}
	case DarkBlind:
		p := coloured()
		p.Good, p.Bad, p.String = "34", "38;5;208", "36"
		p.Added, p.Removed = "48;5;18", "48;5;94"
		p.AddedWord, p.RemovedWord = "48;5;25", "48;5;130"
		return p
	case LightBlind:
		p := Of(Light)
		p.Good, p.Bad, p.String = "34", "38;5;166", "36"
		p.Added, p.Removed = "30;48;5;153", "30;48;5;223"
		p.AddedWord, p.RemovedWord = "30;48;5;111", "30;48;5;215"
		return p
	case DarkBasic, LightBasic:
		p := coloured()
		p.Added, p.Removed, p.Prompt = "32", "31", "1;7"
		p.AddedWord, p.RemovedWord = "4;32", "4;31"
		return p
	case Light:
		p := coloured()
		p.Added, p.Removed = "30;48;5;194", "30;48;5;224"
		p.AddedWord, p.RemovedWord = "30;48;5;157", "30;48;5;217"
		p.Prompt = "1;48;5;254"
		p.Warn = "38;5;130"
		return p
	}
	return coloured()
}

func coloured() Palette {
	return Palette{
		Bold: "1", Italic: "3", Strike: "9", Underline: "4",
		Dim: "2", Accent: "36", Prompt: "1;48;5;236",
		Good: "32", Bad: "31", Warn: "33",
		Code: "36", Link: "4;34", Heading: "1;35",
		Added: "48;5;22", Removed: "48;5;52", AddedWord: "48;5;28", RemovedWord: "48;5;88", Selected: "7",
		Keyword: "35", String: "32", Number: "33", Comment: "2;3", Function: "34",
	}
}

// Fine returns the palette with softer shades behind changed lines, if the terminal
// has them, as COLORTERM says.
func (p Palette) Fine(getenv func(string) string) Palette {
	if c := getenv("COLORTERM"); c != "truecolor" && c != "24bit" {
		return p
	}
	if p.Added == coloured().Added { // the light ones are soft already
		p.Added, p.Removed = "48;2;22;56;38", "48;2;72;28;34"
		p.AddedWord, p.RemovedWord = "48;2;36;100;66", "48;2;130;46;58"
	}
	return p
}

// Detect says which palette fits, from the environment: NO_COLOR and TERM=dumb
// mean no colour; HAFT_THEME names a theme, and COLORFGBG is how some
// terminals tell. Without a word it is dark.
func Detect(getenv func(string) string) Background {
	switch theme := Background(getenv("HAFT_THEME")); theme {
	case Light, Dark, Plain, DarkBlind, LightBlind, DarkBasic, LightBasic:
		return theme
	case "none":
		return Plain
	}
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return Plain
	}
	fgbg := getenv("COLORFGBG")
	if bg := fgbg[strings.LastIndexByte(fgbg, ';')+1:]; bg == "7" || bg == "15" {
		return Light
	}
	return Dark
}
