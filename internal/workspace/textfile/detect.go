package textfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
)

// BinaryError says that a file is not text, and what it seems to be.
type BinaryError struct{ Kind string }

func (e *BinaryError) Error() string { return fmt.Sprintf("not a text file: %s", e.Kind) }

// Detect finds the encoding of a file, or of a long enough beginning of one cut at a character boundary.
//
// The order is from certain to likely: byte-order mark, magic number, valid UTF-8, the places of NUL bytes for UTF-16,
// mostly valid UTF-8 with stray bytes, and letter frequencies last.
func Detect(raw []byte) (Encoding, error) {
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
	if utf8.Valid(raw) || mostlyUTF8(raw) {
		return Encoding{}, nil
	}
	return guess(raw)
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

// sampleSize bounds what the frequency detector reads; it costs about 20 ms per megabyte.
const sampleSize = 64 << 10

// guess tells legacy encodings apart: by letter frequencies where there are enough letters, else by the shape of the text.
func guess(raw []byte) (Encoding, error) {
	s := sample(raw)
	shape := shapeOf(s)
	if shape.high >= 10 {
		if enc, ok := byFrequency(raw, s); ok {
			return enc, nil
		}
	}
	if shape.western() {
		return Encoding{name: shape.westernName(), codec: legacy[shape.westernName()], guessed: true}, nil
	}
	order := []string{"GB18030", "Shift_JIS", "EUC-KR", "Big5"}
	if shape.kana > 0 && shape.kana*4 >= shape.high {
		order = []string{"Shift_JIS", "GB18030", "EUC-KR", "Big5"}
	}
	for _, name := range append(order, "windows-1252") {
		enc := Encoding{name: name, codec: legacy[name], guessed: true, unsure: true}
		if decodes(raw, enc) || name == "windows-1252" {
			return enc, nil
		}
	}
	panic("unreachable: windows-1252 ends the list")
}

// western reports whether the text looks like a western European language.
func (s shape) western() bool { return s.short*10 >= s.runs*6 && s.high*100 <= s.bytes*35 }

// byFrequency takes the detector's best answer that decodes every byte, if it is sure enough.
func byFrequency(raw, sample []byte) (Encoding, bool) {
	results, err := chardet.NewTextDetector().DetectAll(sample)
	if err != nil {
		return Encoding{}, false
	}
	// The detector runs its recognisers side by side; equal confidence must not mean a different answer each time.
	slices.SortStableFunc(results, func(a, b chardet.Result) int {
		return cmp.Or(b.Confidence-a.Confidence, strings.Compare(a.Charset, b.Charset))
	})
	for _, r := range results {
		enc := Encoding{name: r.Charset, codec: legacy[r.Charset], guessed: true}
		if r.Confidence >= 50 && enc.codec != nil && decodes(raw, enc) {
			return enc, true
		}
	}
	return Encoding{}, false
}

func decodes(raw []byte, enc Encoding) bool {
	return !bytes.ContainsRune(Decode(raw, enc).text, utf8.RuneError)
}

// sample collects the lines that hold bytes beyond ASCII: the others tell the detector nothing. A line feed is never part
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
