// Package key turns the bytes that a terminal sends into what a person did: a key,
// a paste, a change of focus.
//
//	var d key.Decoder
//	events := d.Decode(chunk) // as read from the terminal
//	events = d.Flush()        // when nothing more has come for a while
//
// A paste is one event, whatever bytes are in it, so that no program which reads
// keys can take pasted text for an answer. A sequence that nobody knows is no
// event. A Decoder belongs to one goroutine and holds no more than one unfinished
// event.
package key

// An Event is a [Key], a [Paste], a [Focus] or a [Light].
type Event interface{ event() }

// A Key is one key with what was held down.
type Key struct {
	// Name is that of a key that writes nothing, such as up or enter; "" for one
	// that writes Rune.
	Name             Name
	Rune             rune
	Ctrl, Alt, Shift bool
}

// A Paste is text that was pasted.
type Paste string

// Focus tells that the terminal's window got the focus, or lost it.
type Focus bool

// Light is the terminal's answer to [AskBackground]: whether its background is a
// light one.
type Light bool

// AskBackground asks the terminal for the colour of its background. One that does
// not know the question says nothing.
const AskBackground = "\x1b]11;?\x07"

func (Light) event() {}
func (Key) event()   {}
func (Paste) event() {}
func (Focus) event() {}

// Name is that of a key that writes nothing.
type Name string

// The keys that write nothing.
const (
	Enter     Name = "enter"
	Tab       Name = "tab"
	Escape    Name = "esc"
	Backspace Name = "backspace"
	Delete    Name = "delete"
	Up        Name = "up"
	Down      Name = "down"
	Left      Name = "left"
	Right     Name = "right"
	Home      Name = "home"
	End       Name = "end"
	PageUp    Name = "pageup"
	PageDown  Name = "pagedown"
	Insert    Name = "insert"
)

// String writes a key as help texts do, such as ctrl+c.
func (k Key) String() string {
	s := string(k.Name)
	if s == "" {
		s = string(k.Rune)
	}
	if k.Shift {
		s = "shift+" + s
	}
	if k.Alt {
		s = "alt+" + s
	}
	if k.Ctrl {
		s = "ctrl+" + s
	}
	return s
}

// Writes reports whether the key writes a character.
func (k Key) Writes() bool { return k.Name == "" && !k.Ctrl && !k.Alt }
