// Package textfile reads and changes text without touching a byte that was not asked for.
//
// A Text keeps the raw bytes of a file next to their decoded form and can say, for any place in the decoded
// text, where it lies in the raw bytes. An edit is a list of Splices in decoded offsets; Splice turns them into
// byte ranges, encodes only the new text, and copies everything else from the raw bytes. Encoding, byte-order
// mark, line endings and invalid sequences outside the spans therefore cannot change: they are never re-encoded.
//
//	t, err := textfile.Parse(raw)                              // *BinaryError when it is not text
//	raw2, err := t.Splice([]textfile.Splice{{Start: 10, End: 14, New: "text"}})
//
// Everything here is a pure function of its arguments. A Text is immutable and safe for concurrent use as long as
// nobody writes to the bytes it was made from.
package textfile

import (
	"bytes"
	"fmt"
	"sort"

	"golang.org/x/text/transform"
)

// Text is the decoded view of a file's bytes.
type Text struct {
	raw   []byte
	enc   Encoding
	text  []byte // UTF-8; aliases raw when the encoding is UTF-8
	marks []pair // ascending; only for encodings other than UTF-8
}

// pair says that decoded offset text lies at raw offset raw.
type pair struct{ text, raw int }

// Parse detects the encoding of raw and decodes it. Text that is not text is a *BinaryError.
func Parse(raw []byte) (*Text, error) {
	enc, err := Detect(raw)
	if err != nil {
		return nil, err
	}
	return Decode(raw, enc), nil
}

// Decode decodes raw with a known encoding. Invalid sequences appear as U+FFFD in the text of a legacy encoding and
// as they are in UTF-8; either way their bytes stay what they were.
func Decode(raw []byte, enc Encoding) *Text {
	t := &Text{raw: raw, enc: enc}
	body := raw[len(enc.bom):]
	if enc.codec == nil {
		t.text = body
		return t
	}
	t.text, t.marks = decodeMapped(body, enc)
	return t
}

// blockSize is the decoded size of one step of the offset map: small enough that finding a place inside a block is
// cheap, large enough that the map stays a fraction of a per cent of the text.
const blockSize = 4096

func decodeMapped(body []byte, enc Encoding) ([]byte, []pair) {
	base := len(enc.bom)
	dec := enc.codec.NewDecoder()
	text := make([]byte, 0, len(body)+len(body)/2)
	var marks []pair
	block := make([]byte, blockSize)
	for src := 0; ; {
		marks = append(marks, pair{len(text), base + src})
		nDst, nSrc, err := dec.Transform(block, body[src:], true)
		text = append(text, block[:nDst]...)
		src += nSrc
		if err != transform.ErrShortDst {
			return text, append(marks, pair{len(text), base + len(body)})
		}
	}
}

// Raw returns the file's bytes. The caller must not change them.
func (t *Text) Raw() []byte { return t.raw }

// Bytes returns the decoded text without a byte-order mark. The caller must not change it.
func (t *Text) Bytes() []byte { return t.text }

// Encoding returns the encoding the text was decoded with.
func (t *Text) Encoding() Encoding { return t.enc }

// Offset returns the raw offset of a decoded offset, which must be a character boundary.
func (t *Text) Offset(off int) int {
	if t.enc.codec == nil {
		return off + len(t.enc.bom)
	}
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].text > off }) - 1
	from := t.marks[i]
	if from.text == off {
		return from.raw
	}
	// A decoder that may write exactly the bytes up to off stops exactly there.
	dst := make([]byte, off-from.text)
	_, n, _ := t.enc.codec.NewDecoder().Transform(dst, t.raw[from.raw:], true)
	return from.raw + n
}

// Splice is the replacement of the decoded text [Start, End) by New.
type Splice struct {
	Start, End int
	New        string
}

// Splice returns the raw bytes with the given spans replaced. The spans must be ascending and must not overlap. Text
// the encoding cannot hold is a *repertoireError and nothing is returned.
func (t *Text) Splice(splices []Splice) ([]byte, error) {
	size := len(t.raw)
	encoded := make([][]byte, len(splices))
	for i, s := range splices {
		if err := t.checkSpan(splices, i); err != nil {
			return nil, err
		}
		b, err := t.enc.Encode(s.New)
		if err != nil {
			return nil, err
		}
		encoded[i] = b
		size += len(b)
	}
	out := make([]byte, 0, size)
	last := 0
	for i, s := range splices {
		out = append(out, t.raw[last:t.Offset(s.Start)]...)
		out = append(out, encoded[i]...)
		last = t.Offset(s.End)
	}
	out = append(out, t.raw[last:]...)
	return out, t.verify(splices, out)
}

func (t *Text) checkSpan(splices []Splice, i int) error {
	s := splices[i]
	if s.Start < 0 || s.End < s.Start || s.End > len(t.text) || (i > 0 && s.Start < splices[i-1].End) {
		return fmt.Errorf("splice %d: span [%d, %d) is out of order or outside a text of %d bytes", i, s.Start, s.End, len(t.text))
	}
	return nil
}

// verify decodes what was written in a legacy encoding and compares it with what was meant: new bytes next to old ones
// may read as another character (a stray lead byte before the span, for one).
func (t *Text) verify(splices []Splice, out []byte) error {
	if t.enc.codec == nil {
		return nil
	}
	got := Decode(out, t.enc).text
	last := 0
	for _, s := range splices {
		n := s.Start - last
		if len(got) < n+len(s.New) || !bytes.Equal(got[:n], t.text[last:s.Start]) || string(got[n:n+len(s.New)]) != s.New {
			return &repertoireError{Encoding: t.enc}
		}
		got, last = got[n+len(s.New):], s.End
	}
	if !bytes.Equal(got, t.text[last:]) {
		return &repertoireError{Encoding: t.enc}
	}
	return nil
}
