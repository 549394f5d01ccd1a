package key

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// maxPaste bounds a paste whose end does not come, maxSequence an escape
	// sequence.
	maxPaste    = 16 << 20
	maxSequence = 256
)

// A Decoder reads what a terminal sends. The zero value is ready.
type Decoder struct {
	rest    []byte // of an event that is not complete
	pasting bool
}

// Decode returns the events that are complete with these bytes.
func (d *Decoder) Decode(b []byte) []Event {
	d.rest = append(d.rest, b...)
	var events []Event
	for len(d.rest) > 0 {
		ev, n := d.next(d.rest)
		if n == 0 {
			break
		}
		d.rest = d.rest[n:]
		if ev != nil {
			events = append(events, ev)
		}
	}
	if len(d.rest) == 0 {
		d.rest = nil
	}
	return events
}

// Pending reports whether something is left that may be a key by itself, such as
// the escape key, if nothing follows.
func (d *Decoder) Pending() bool { return len(d.rest) > 0 && !d.pasting }

// Flush returns what is left as keys: nothing more belongs to it.
func (d *Decoder) Flush() []Event {
	if !d.Pending() {
		return nil
	}
	rest := d.rest
	d.rest = nil
	if rest[0] != 0x1b {
		return nil // half a character
	}
	events := []Event{Key{Name: Escape}}
	for _, c := range rest[1:] {
		events = append(events, control(c))
	}
	return events
}

// next returns the first event in b and its length; 0 if it is not complete.
func (d *Decoder) next(b []byte) (Event, int) {
	if d.pasting {
		return d.paste(b)
	}
	if b[0] == 0x1b {
		return d.escape(b)
	}
	if b[0] < 0x20 || b[0] == 0x7f {
		return control(b[0]), 1
	}
	if !utf8.FullRune(b) {
		return nil, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return nil, 1
	}
	return Key{Rune: r}, n
}

func (d *Decoder) paste(b []byte) (Event, int) {
	end := bytes.Index(b, []byte(pasteEnd))
	if end < 0 {
		if len(b) < maxPaste {
			return nil, 0
		}
		end = len(b) - len(pasteEnd)
	}
	d.pasting = false
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(string(b[:end]), "\uFFFD"))
	return Paste(text), end + len(pasteEnd)
}

// escape reads what begins with the escape character.
func (d *Decoder) escape(b []byte) (Event, int) {
	if len(b) == 1 {
		return nil, 0
	}
	switch b[1] {
	case '[':
		return d.csi(b)
	case 'O':
		if len(b) < 3 {
			return nil, 0
		}
		return named(finals[b[2]], 0), 3
	case ']', 'P', '_', '^', 'X': // the terminal tells something: it is no key
		n := stringEnd(b)
		return background(string(b[:n])), n
	case 0x1b:
		return Key{Name: Escape}, 1
	}
	ev, n := d.next(b[1:])
	if k, ok := ev.(Key); ok {
		k.Alt = true
		ev = k
	}
	if n == 0 {
		return nil, 0
	}
	return ev, n + 1
}

// background reads the answer to [AskBackground], such as 11;rgb:ffff/ffff/ffff.
func background(s string) Event {
	rest, ok := strings.CutPrefix(s, "\x1b]11;rgb:")
	if !ok {
		return nil
	}
	sum, parts := 0, strings.Split(strings.TrimRight(rest, "\x07\x1b\\"), "/")
	for _, p := range parts {
		n, err := strconv.ParseUint(p[:min(len(p), 2)], 16, 8)
		if err != nil {
			return nil
		}
		sum += int(n)
	}
	return Light(len(parts) == 3 && sum > 3*127)
}

// stringEnd returns where a string of the terminal's ends.
func stringEnd(b []byte) int {
	for i := 2; i < len(b); i++ {
		if b[i] == 0x07 {
			return i + 1
		}
		if b[i] == '\\' && b[i-1] == 0x1b {
			return i + 1
		}
	}
	if len(b) > maxSequence {
		return len(b)
	}
	return 0
}

// csi reads a control sequence.
func (d *Decoder) csi(b []byte) (Event, int) {
	end := 2
	for end < len(b) && b[end] >= 0x20 && b[end] < 0x40 {
		end++
	}
	if end == len(b) {
		if end > maxSequence {
			return nil, end
		}
		return nil, 0
	}
	if string(b[:end+1]) == pasteStart {
		d.pasting = true
		return nil, end + 1
	}
	return sequence(string(b[2:end]), b[end]), end + 1
}

// sequence returns the key of a control sequence, or nil.
func sequence(params string, final byte) Event {
	parts := strings.Split(params, ";")
	number := func(i int) int {
		if i >= len(parts) {
			return 0
		}
		s, _, _ := strings.Cut(parts[i], ":")
		n, _ := strconv.Atoi(s)
		return n
	}
	switch {
	case final == 'I' && params == "":
		return Focus(true)
	case final == 'O' && params == "":
		return Focus(false)
	case final == 'Z':
		return Key{Name: Tab, Shift: true}
	case final == '~':
		if number(0) == 27 { // a modified key as xterm sends it
			return code(number(2), number(1))
		}
		return named(numbers[number(0)], number(1))
	case final == 'u':
		return code(number(0), number(1))
	}
	return named(finals[final], number(1))
}

func named(n Name, modifiers int) Event {
	if n == "" {
		return nil
	}
	return modified(Key{Name: n}, modifiers)
}

// code returns the key of a code point, as newer terminals send it.
func code(c, modifiers int) Event {
	switch {
	case c == 13:
		return modified(Key{Name: Enter}, modifiers)
	case c == 9:
		return modified(Key{Name: Tab}, modifiers)
	case c == 27:
		return modified(Key{Name: Escape}, modifiers)
	case c == 127 || c == 8:
		return modified(Key{Name: Backspace}, modifiers)
	case c < 0x20 || c > utf8.MaxRune || c >= 57344 && c <= 63743: // keys that have no name here
		return nil
	}
	return modified(Key{Rune: rune(c)}, modifiers)
}

func modified(k Key, modifiers int) Key {
	if m := modifiers - 1; m > 0 {
		k.Shift, k.Alt, k.Ctrl = m&1 != 0, m&2 != 0, m&4 != 0
	}
	if k.Name == "" && k.Shift {
		k.Shift = false // the character says it
		k.Rune = []rune(strings.ToUpper(string(k.Rune)))[0]
	}
	return k
}

func control(c byte) Event {
	switch c {
	case '\r':
		return Key{Name: Enter}
	case '\t':
		return Key{Name: Tab}
	case 0x1b:
		return Key{Name: Escape}
	case 0x7f, 0x08:
		return Key{Name: Backspace}
	case 0:
		return Key{Rune: ' ', Ctrl: true}
	}
	if c < 0x1b {
		return Key{Rune: rune('a' + c - 1), Ctrl: true}
	}
	if c < 0x20 {
		return Key{Rune: rune(c + 0x40), Ctrl: true}
	}
	return Key{Rune: rune(c)}
}

var finals = map[byte]Name{'A': Up, 'B': Down, 'C': Right, 'D': Left, 'H': Home, 'F': End, 'M': Enter}

var numbers = map[int]Name{1: Home, 2: Insert, 3: Delete, 4: End, 5: PageUp, 6: PageDown, 7: Home, 8: End}
