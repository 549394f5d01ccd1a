package textfile

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// BinaryError says that a file is not text, and what it seems to be.
type BinaryError struct{ Kind string }

func (e *BinaryError) Error() string { return fmt.Sprintf("not a text file: %s", e.Kind) }

// Hints are what is known of a file besides its bytes.
type Hints struct {
	// Charset is the encoding that a setting for the path names, such as .editorconfig; nil means none.
	Charset *Encoding
	// Others returns encodings of other files of the project, the most frequent first. It is asked only when the bytes leave a
	// doubt. Nil means that there are none.
	Others func() []string
}

// Detect finds the encoding of a file, or of a long enough beginning of one cut at a character boundary.
func Detect(raw []byte) (Encoding, error) { return DetectWith(raw, Hints{}) }

// DetectWith is Detect with what is known of the file besides its bytes.
//
// The order is from certain to likely: byte-order mark, magic number, the places of NUL bytes for UTF-16, what the file
// declares, what is set for it, valid UTF-8, mostly valid UTF-8 with stray bytes, and letter frequencies last. A declaration
// that the bytes contradict does not count.
func DetectWith(raw []byte, hints Hints) (Encoding, error) {
	switch {
	case bytes.HasPrefix(raw, []byte{0xFF, 0xFE, 0, 0}), bytes.HasPrefix(raw, []byte{0, 0, 0xFE, 0xFF}):
		return Encoding{}, &BinaryError{Kind: "UTF-32 text"}
	case bytes.HasPrefix(raw, bomUTF8):
		if bytes.IndexByte(raw, 0) >= 0 {
			return Encoding{}, &BinaryError{Kind: "data with NUL bytes"}
		}
		return Encoding{bom: bomUTF8}, nil
	case bytes.HasPrefix(raw, bomUTF16LE):
		return withBOM(utf16LE, bomUTF16LE), nil
	case bytes.HasPrefix(raw, bomUTF16BE):
		return withBOM(utf16BE, bomUTF16BE), nil
	}
	if kind := Magic(raw); kind != "" {
		return Encoding{}, &BinaryError{Kind: kind}
	}
	if nul := bytes.IndexByte(raw, 0); nul >= 0 {
		return detectWide(raw)
	}
	if enc, ok := stated(raw, hints); ok {
		return enc, nil
	}
	if utf8.Valid(raw) || mostlyUTF8(raw) {
		return Encoding{}, nil
	}
	return guess(raw, hints), nil
}

// stated returns the legacy encoding that the file or a setting for it names, if the bytes agree.
func stated(raw []byte, hints Hints) (Encoding, bool) {
	if asciiCount(raw) == len(raw) {
		return Encoding{}, false
	}
	if enc, ok := Declared(raw); ok && enc.believable(raw) {
		return enc, true
	}
	if set := hints.Charset; set != nil && !set.wide && len(set.bom) == 0 && set.believable(raw) {
		return *set, true
	}
	return Encoding{}, false
}

func withBOM(e Encoding, bom []byte) Encoding {
	e.bom = bom
	return e
}

// detectWide tells UTF-16 without a mark from binary data. In text that is mostly ASCII every second byte is NUL; in
// any text the NUL bytes lie on one side only, and there is no NUL character.
func detectWide(raw []byte) (Encoding, error) {
	var zeros [2]int
	for i, b := range raw {
		if b == 0 {
			zeros[i%2]++
		}
	}
	units := len(raw) / 2
	odd := len(raw)%2 != 0
	switch {
	case !odd && zeros[0] == 0 && zeros[1]*10 >= units*3 && printable(raw, utf16LE):
		return utf16LE, nil
	case !odd && zeros[1] == 0 && zeros[0]*10 >= units*3 && printable(raw, utf16BE):
		return utf16BE, nil
	}
	return Encoding{}, &BinaryError{Kind: "data with NUL bytes"}
}

// printable reports whether the beginning of raw decodes without errors or control characters.
func printable(raw []byte, enc Encoding) bool {
	for _, r := range string(Decode(raw[:min(len(raw), 1024)], enc).text) {
		if r == utf8.RuneError || r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' && r != 0x1B {
			return false
		}
	}
	return true
}

// mostlyUTF8 reports whether raw is UTF-8 with a few stray bytes. Legacy text holds accidental valid sequences, but never
// four times as many as invalid ones.
func mostlyUTF8(raw []byte) bool {
	valid, invalid := 0, 0
	for i := 0; i < len(raw); {
		if raw[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			invalid++
		} else {
			valid++
		}
		i += n
	}
	return valid >= 4*invalid
}

// sampleSize bounds what the letters are counted in.
const sampleSize = 16 << 10

func decodes(raw []byte, enc Encoding) bool {
	return !bytes.ContainsRune(Decode(raw, enc).text, utf8.RuneError)
}

// sample collects the lines that hold bytes beyond ASCII: the others tell nothing. A line feed is never part
// of a longer character in the encodings we know.
func sample(raw []byte) []byte {
	var s []byte
	for len(raw) > 0 && len(s) < sampleSize {
		line := raw
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line = raw[:i+1]
		}
		raw = raw[len(line):]
		if bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			s = append(s, line[:min(len(line), sampleSize)]...)
		}
	}
	return s
}
