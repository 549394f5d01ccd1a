package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// Encoding is how the characters of one file are written as bytes, with or without a byte-order mark. The zero value is
// UTF-8 without one.
type Encoding struct {
	name    string
	codec   encoding.Encoding // nil: UTF-8
	bom     []byte
	wide    bool // two-byte code units
	guessed bool
	unsure  bool   // guessed from too little
	source  string // what says so, where it is not the bytes themselves
}

var (
	bomUTF8    = []byte{0xEF, 0xBB, 0xBF}
	bomUTF16LE = []byte{0xFF, 0xFE}
	bomUTF16BE = []byte{0xFE, 0xFF}

	utf16LE = Encoding{name: "UTF-16LE", codec: unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), wide: true}
	utf16BE = Encoding{name: "UTF-16BE", codec: unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), wide: true}
)

// legacy maps the names of encodings to codecs. Stateful encodings (ISO-2022-*) are missing on purpose: a splice in
// one would depend on shift state before it.
var legacy = map[string]encoding.Encoding{
	"Big5":         traditionalchinese.Big5,
	"EUC-JP":       japanese.EUCJP,
	"EUC-KR":       korean.EUCKR,
	"GB18030":      simplifiedchinese.GB18030,
	"GBK":          simplifiedchinese.GBK,
	"IBM866":       charmap.CodePage866,
	"ISO-8859-1":   charmap.ISO8859_1,
	"ISO-8859-2":   charmap.ISO8859_2,
	"ISO-8859-5":   charmap.ISO8859_5,
	"ISO-8859-6":   charmap.ISO8859_6,
	"ISO-8859-7":   charmap.ISO8859_7,
	"ISO-8859-8":   charmap.ISO8859_8,
	"ISO-8859-8-I": charmap.ISO8859_8I,
	"ISO-8859-9":   charmap.Windows1254,
	"ISO-8859-15":  charmap.ISO8859_15,
	"KOI8-R":       charmap.KOI8R,
	"KOI8-U":       charmap.KOI8U,
	"macintosh":    charmap.Macintosh,
	"Shift_JIS":    japanese.ShiftJIS,
	"windows-1250": charmap.Windows1250,
	"windows-1251": charmap.Windows1251,
	"windows-1252": charmap.Windows1252,
	"windows-1253": charmap.Windows1253,
	"windows-1254": charmap.Windows1254,
	"windows-1255": charmap.Windows1255,
	"windows-1256": charmap.Windows1256,
	"windows-1257": charmap.Windows1257,
	"windows-1258": charmap.Windows1258,
	"windows-874":  charmap.Windows874,
}

// doubleByte are the encodings whose characters beyond ASCII have two bytes or more.
var doubleByte = map[string]bool{"Big5": true, "EUC-JP": true, "EUC-KR": true, "GB18030": true, "GBK": true, "Shift_JIS": true}

// ByName returns the encoding whose String is name, such as one kept in a read state.
func ByName(name string) (Encoding, bool) {
	base, marked := strings.CutSuffix(name, " with BOM")
	e := Encoding{name: base}
	switch base {
	case "", "UTF-8":
		e = Encoding{}
	case utf16LE.name:
		e = utf16LE
	case utf16BE.name:
		e = utf16BE
	default:
		codec, ok := legacy[base]
		if !ok {
			return Encoding{}, false
		}
		e.codec, e.guessed = codec, true
	}
	if marked {
		e.bom = map[string][]byte{"": bomUTF8, "UTF-16LE": bomUTF16LE, "UTF-16BE": bomUTF16BE}[e.name]
	}
	return e, true
}

// String names the encoding as people do: "UTF-8", "UTF-8 with BOM", "UTF-16LE with BOM", "Shift_JIS".
func (e Encoding) String() string {
	name := e.name
	if name == "" {
		name = "UTF-8"
	}
	if len(e.bom) > 0 {
		name += " with BOM"
	}
	return name
}

// UTF8 reports whether the raw bytes after any byte-order mark are the decoded text.
func (e Encoding) UTF8() bool { return e.codec == nil }

// Guessed reports whether the encoding was inferred from letter frequencies rather than read from the bytes.
func (e Encoding) Guessed() bool { return e.guessed }

// Source says where the encoding is declared, or "".
func (e Encoding) Source() string { return e.source }

// BOM returns the byte-order mark the file begins with, if any.
func (e Encoding) BOM() []byte { return bytes.Clone(e.bom) }

// Codec returns the codec of the bytes after the byte-order mark, or nil for UTF-8.
func (e Encoding) Codec() encoding.Encoding { return e.codec }

// Unsure reports whether the guess rests on too few bytes to write anything but ASCII by it.
func (e Encoding) Unsure() bool { return e.unsure }

// Encode returns s in this encoding, without a byte-order mark.
func (e Encoding) Encode(s string) ([]byte, error) {
	if e.codec == nil {
		return []byte(s), nil
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }); e.unsure && i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return nil, &repertoireError{Encoding: e, Rune: r}
	}
	b, err := e.codec.NewEncoder().Bytes([]byte(s))
	if err != nil {
		return nil, &repertoireError{Encoding: e, Rune: e.firstUnencodable(s)}
	}
	return b, nil
}

func (e Encoding) firstUnencodable(s string) rune {
	for _, r := range s {
		if _, err := e.codec.NewEncoder().String(string(r)); err != nil {
			return r
		}
	}
	return utf8.RuneError
}

// repertoireError says that text cannot be written in the encoding of its file. Its text is written for the model.
type repertoireError struct {
	Encoding Encoding
	Rune     rune // the first character that does not fit; 0 when it is their neighbours that make it unreadable
}

func (e *repertoireError) Error() string {
	switch {
	case e.Rune == 0:
		return fmt.Sprintf("The new text would not read the same next to the bytes around it in %s. Replace a longer piece of text.", e.Encoding)
	case e.Encoding.unsure:
		return fmt.Sprintf("The file has too little text to tell its encoding (perhaps %s), so %q (U+%04X) cannot be written safely. If you know the encoding, send this call again with encoding set to it; otherwise use ASCII only.", e.Encoding, e.Rune, e.Rune)
	}
	return fmt.Sprintf("The file is encoded in %s, which lacks %q (U+%04X). Use only characters it has.", e.Encoding, e.Rune, e.Rune)
}

// Wide reports whether the encoding has two-byte code units, so that ASCII is not itself in it.
func (e Encoding) Wide() bool { return e.wide }

// DecodeLine decodes one line that Lines returned; the first may carry the byte-order mark, which is dropped.
func (e Encoding) DecodeLine(raw []byte) []byte {
	if len(e.bom) > 0 {
		raw = bytes.TrimPrefix(raw, e.bom)
	}
	e.bom = nil
	return Decode(raw, e).text
}

// believable reports whether bytes are what a declaration says. Bytes that read as UTF-8 are, whatever an old declaration says;
// but two or three characters of two bytes may be so by chance.
func (e Encoding) believable(raw []byte) bool {
	if e.codec == nil {
		return utf8.Valid(raw)
	}
	if utf8.Valid(raw) {
		chance := 0
		if doubleByte[e.name] {
			chance = 2
		}
		if beyond := utf8.RuneCount(raw) - asciiCount(raw); beyond > chance {
			return false
		}
	}
	return decodes(raw, e)
}

// From returns the encoding with a note of what says so.
func (e Encoding) From(source string) Encoding {
	e.source = source
	return e
}

// For returns the encoding for these bytes: with a byte-order mark if they begin with its, and else without.
func (e Encoding) For(raw []byte) Encoding {
	bom := map[string][]byte{"": bomUTF8, "UTF-16LE": bomUTF16LE, "UTF-16BE": bomUTF16BE}[e.name]
	if e.bom = nil; len(bom) > 0 && bytes.HasPrefix(raw, bom) {
		e.bom = bom
	}
	return e
}

// Reads reports whether every byte is text in the encoding.
func (e Encoding) Reads(raw []byte) bool {
	e = e.For(raw)
	if e.codec == nil {
		return utf8.Valid(raw)
	}
	return decodes(raw, e)
}
