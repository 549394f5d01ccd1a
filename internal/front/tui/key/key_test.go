package key_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/front/tui/key"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		want        []key.Event
	}{
		{"letters", "aß語", []key.Event{key.Key{Rune: 'a'}, key.Key{Rune: 'ß'}, key.Key{Rune: '語'}}},
		{"control keys", "\x03\r\t\x7f\n", []key.Event{key.Key{Rune: 'c', Ctrl: true}, key.Key{Name: key.Enter}, key.Key{Name: key.Tab}, key.Key{Name: key.Backspace}, key.Key{Rune: 'j', Ctrl: true}}},
		{"arrows, held keys included", "\x1b[A\x1bOB\x1b[1;5C", []key.Event{key.Key{Name: key.Up}, key.Key{Name: key.Down}, key.Key{Name: key.Right, Ctrl: true}}},
		{"shift+tab", "\x1b[Z", []key.Event{key.Key{Name: key.Tab, Shift: true}}},
		{"alt with a letter and with enter", "\x1bb\x1b\r", []key.Event{key.Key{Rune: 'b', Alt: true}, key.Key{Name: key.Enter, Alt: true}}},
		{"shift+enter of newer terminals", "\x1b[13;2u\x1b[27;2;13~", []key.Event{key.Key{Name: key.Enter, Shift: true}, key.Key{Name: key.Enter, Shift: true}}},
		{"ctrl+c of newer terminals", "\x1b[99;5u", []key.Event{key.Key{Rune: 'c', Ctrl: true}}},
		{"a paste, whatever is in it", "\x1b[200~y\r\n\x1b[A\x03\x1b[201~x", []key.Event{key.Paste("y\n\x1b[A\x03"), key.Key{Rune: 'x'}}},
		{"focus", "\x1b[I\x1b[O", []key.Event{key.Focus(true), key.Focus(false)}},
		{"what the terminal tells is no key", "\x1b]0;title\x07\x1b[?62;c\x1bP1$r\x1b\\a", []key.Event{key.Key{Rune: 'a'}}},
		{"the background", "\x1b]11;rgb:0000/1111/2222\x07\x1b]11;rgb:ffff/ffff/eeee\x1b\\", []key.Event{key.Light(false), key.Light(true)}},
		{"no background", "\x1b]11;rgb:zz/1\x07", nil},
		{"what nobody knows is no key", "\x1b[9999zb\xffc", []key.Event{key.Key{Rune: 'b'}, key.Key{Rune: 'c'}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole, split := new(key.Decoder), new(key.Decoder)
			if d := cmp.Diff(c.want, whole.Decode([]byte(c.bytes))); d != "" {
				t.Errorf("at once (-want +got):\n%s", d)
			}
			var got []key.Event
			for i := range len(c.bytes) {
				got = append(got, split.Decode([]byte(c.bytes)[i:i+1])...)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("byte by byte (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheEscapeKeyIsOneWhenNothingFollows(t *testing.T) {
	d := new(key.Decoder)
	if got := d.Decode([]byte("\x1b")); got != nil || !d.Pending() {
		t.Errorf("got %v, pending %v", got, d.Pending())
	}
	if diff := cmp.Diff([]key.Event{key.Key{Name: key.Escape}}, d.Flush()); diff != "" {
		t.Error(diff)
	}
	if d.Pending() || d.Flush() != nil {
		t.Error("something is left")
	}
}

func TestAPasteIsNotFlushed(t *testing.T) {
	d := new(key.Decoder)
	d.Decode([]byte("\x1b[200~yes\r"))
	if d.Pending() || d.Flush() != nil {
		t.Error("half a paste became keys")
	}
}

// FuzzDecode holds that no bytes make the decoder fail, stall or keep what it
// has told, and that how they are cut does not matter.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a", "\x1b[200~x\x1b[201~", "\x1b[1;5A", "\x1b\x1b[Z", "\xff\xfe", "\x1b]0;x\x07"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		if len(b) > 200 {
			t.Skip("where an endless sequence is given up depends on how it is cut")
		}
		if cut < 0 || cut > len(b) {
			cut = len(b) / 2
		}
		one, two := new(key.Decoder), new(key.Decoder)
		want := append(one.Decode(b), one.Flush()...)
		got := append(two.Decode(b[:cut]), two.Decode(b[cut:])...)
		got = append(got, two.Flush()...)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("cut at %d (-whole +cut):\n%s", cut, d)
		}
	})
}
