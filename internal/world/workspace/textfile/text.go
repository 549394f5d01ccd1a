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
	"strings"
	"unicode/utf8"

	"golang.org/x/text/transform"
	"znkr.io/diff"
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

// EOL says how the text ends its lines.
func (t *Text) EOL() EOL { return EOLOf(t.text) }

// EndingAt returns the line ending that new lines at a decoded offset should use: that of the line the offset lies in,
// else that of the line before, else \n.
func (t *Text) EndingAt(off int) string {
	if i := bytes.IndexByte(t.text[off:], '\n'); i >= 0 {
		return endingBefore(t.text, off+i)
	}
	if i := bytes.LastIndexByte(t.text[:off], '\n'); i >= 0 {
		return endingBefore(t.text, i)
	}
	if bytes.IndexByte(t.text, '\r') >= 0 {
		return "\r"
	}
	return "\n"
}

func endingBefore(text []byte, lf int) string {
	if lf > 0 && text[lf-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// Lines splits the raw bytes into lines, each with its ending. Joined they are the raw bytes again; a byte-order mark
// belongs to the first line.
func (t *Text) Lines() [][]byte {
	if len(t.raw) == 0 {
		return nil
	}
	newline := t.newline()[0]
	width, low := 1, 0
	if t.enc.wide {
		width = 2
		if t.enc.name == utf16BE.name {
			low = 1
		}
	}
	var lines [][]byte
	start := 0
	for i := 0; i+width <= len(t.raw); i += width {
		if t.raw[i+low] == newline && (width == 1 || t.raw[i+1-low] == 0) {
			lines = append(lines, t.raw[start:i+width])
			start = i + width
		}
	}
	if start < len(t.raw) {
		lines = append(lines, t.raw[start:])
	}
	return lines
}

// Rewrite returns the raw bytes of a whole new content for this file: same encoding, same byte-order mark, and every line
// that the file already holds keeps its very bytes, ending and invalid sequences included. New lines end as the line before them
// does. Content that itself holds the file's \r was meant so and is taken as it is.
func (t *Text) Rewrite(content string) ([]byte, error) {
	if mark := "\uFEFF"; len(t.enc.bom) > 0 && !bytes.HasPrefix(t.text, []byte(mark)) {
		content = strings.TrimPrefix(content, mark)
	}
	splices, err := t.lineSplices(content)
	if err != nil {
		return nil, err
	}
	return t.Splice(splices)
}

// lineSplices finds the runs of lines that differ.
func (t *Text) lineSplices(content string) ([]Splice, error) {
	form := t.formOf(content)
	old, new := form.split(string(t.text), t.newline()), form.split(content, form.newline)
	ending := mainEnding(old)
	var out []Splice
	run := lineRun{}
	for _, e := range diff.Edits(keys(old), keys(new)) {
		if e.Op != diff.Insert && old[e.PosX].ending != "" {
			ending = old[e.PosX].ending
		}
		switch e.Op {
		case diff.Match:
			out = run.close(out, len(old[e.PosX].text))
		case diff.Delete:
			run.end += len(old[e.PosX].text)
			run.damaged = run.damaged || t.stray(old[e.PosX].text)
		case diff.Insert:
			line := new[e.PosY].text
			if run.damaged && strings.ContainsRune(line, utf8.RuneError) {
				return nil, &strayError{Line: e.PosY + 1}
			}
			if !form.exact {
				line = WithEndings(line, ending)
			}
			run.new = append(run.new, line)
		}
	}
	return run.close(out, 0), nil
}

// stray reports whether a line of the text stands for bytes that are invalid in the file's encoding.
func (t *Text) stray(line string) bool {
	return !utf8.ValidString(line) || t.enc.codec != nil && strings.ContainsRune(line, utf8.RuneError)
}

func (t *Text) formOf(content string) form {
	f := form{newline: "\n", exact: strings.Contains(content, "\r\n"), raw: !utf8.ValidString(content)}
	if newline := t.newline(); newline == "\r" && !strings.Contains(content, "\n") {
		f.newline, f.exact = newline, true
	}
	return f
}

// newline is the character that ends the lines of the file.
func (t *Text) newline() string {
	if t.EOL() == CR {
		return "\r"
	}
	return "\n"
}

func keys(lines []textLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.key
	}
	return out
}

// mainEnding returns the ending most lines have.
func mainEnding(lines []textLine) string {
	count := map[string]int{}
	best := "\n"
	for _, l := range lines {
		if count[l.ending]++; l.ending != "" && count[l.ending] > count[best] {
			best = l.ending
		}
	}
	return best
}
