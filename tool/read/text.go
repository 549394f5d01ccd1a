package read

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/transform"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/workspace/readstate"
	"github.com/haftdev/haft/internal/workspace/textfile"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/internal/filetool"
)

const (
	defaultLimit = 2000
	maxTokens    = 25_000   // of one result, by estimate
	sampleSize   = 1 << 20  // what the encoding of a large file is told by
	wholeSize    = 8 << 20  // a file up to this size is read whole, and kept as the base of merges
	maxGrowth    = 16 << 20 // what is read beyond the size a file says it has
	maxScan      = 1 << 30  // what is read to know a file's hash and number of lines; larger ones are not edited
)

// tokens is how much text one result may hold.
func (in Input) tokens() int {
	if in.AllowLarge {
		return 4 * maxTokens
	}
	return maxTokens
}

// showText shows a range of lines. The file is streamed to its end whatever the range, unless it is huge: its hash and number of
// lines are part of what is known afterwards.
func (r *reader) showText(ctx context.Context, c *tool.Call, in Input, f opened) (Output, error) {
	sample, whole, err := f.sample()
	if err != nil {
		return Output{}, err
	}
	detect := func(b []byte) (textfile.Encoding, error) { return r.ws.Encoding(c.Agent, f.facts.Real, b) }
	if said := filetool.Encoding(in.Encoding); said != nil {
		detect = func(b []byte) (textfile.Encoding, error) { return said.For(sample), nil }
	}
	enc, err := f.encoding(ctx, detect, sample, whole)
	if err != nil {
		return Output{}, binaryError(f, err)
	}
	unsaved := false
	if whole || f.info.Size == 0 {
		if text, differs := r.ws.Unsaved(ctx, f.facts.Path, sample, enc); differs {
			sample, whole, unsaved = text, true, true
		}
	}
	eol := textfile.EOLOf(textfile.Decode(sample, enc).Bytes())

	var source io.Reader = bytes.NewReader(sample)
	if !whole {
		source = io.LimitReader(contextReader{ctx, f.file}, f.info.Size+maxGrowth)
	}
	sum := sha256.New()
	raw := &counted{r: io.TeeReader(source, sum)}
	if _, err := io.CopyN(io.Discard, raw, int64(len(enc.BOM()))); err != nil && !errors.Is(err, io.EOF) {
		return Output{}, fmt.Errorf("could not read %s: %w", f.facts.Path, err)
	}
	var text io.Reader = raw
	if !whole && !enc.Wide() {
		text = textOnly{raw}
	}
	if codec := enc.Codec(); codec != nil {
		text = transform.NewReader(text, codec.NewDecoder())
	}
	w := newWindow(in, eol)
	buf := make([]byte, min(f.info.Size+1, 64<<10)) // a small file needs no more, and most are small
	if err := w.scan(text, buf); err != nil {
		if ctx.Err() != nil {
			return Output{}, ctx.Err()
		}
		return Output{}, binaryError(f, fmt.Errorf("could not read %s: %w", f.facts.Path, err))
	}
	if w.stopped {
		return w.output(f.facts.Path, in, enc, eol), nil
	}

	e := readstate.Entry{Path: f.facts.Real, Hash: hex.EncodeToString(sum.Sum(nil)), Size: raw.n, ModTime: f.info.ModTime,
		Encoding: enc.String(), EOL: string(eol), Given: in.Encoding != ""}
	if before, ok := r.ws.Seen(c.Agent).Get(e.Path); ok && before.Given && before.Encoding == e.Encoding {
		e.Given = true
	}
	if whole {
		e.Base = sample
	}
	if len(w.lines) > 0 {
		e.Ranges = []readstate.Range{{From: w.from, To: w.from + len(w.lines) - 1}}
	}
	r.ws.Saw(c.Agent, e)
	out := w.output(f.facts.Path, in, enc, eol)
	if unsaved {
		out.File.Notes = append(out.File.Notes, "This is the file as it is in the user's editor, with unsaved changes. The file on disk is different; commands and edits work on the file on disk.")
	}
	return out, nil
}

func newWindow(in Input, eol textfile.EOL) *window {
	w := &window{newline: '\n', from: max(in.Offset, 1), limit: cmp.Or(in.Limit, defaultLimit), tokens: in.tokens(), most: maxScan}
	if eol == textfile.CR {
		w.newline = '\r'
	}
	return w
}

func binaryError(f opened, err error) error {
	var b *textfile.BinaryError
	if !errors.As(err, &b) {
		return err
	}
	return tool.Errorf("%s is not text: %s, %d bytes. Read shows text, images (PNG, JPEG, GIF, WebP), PDFs and notebooks; look at other files with Bash (file, xxd, unzip -l).", f.facts.Path, b.Kind, f.info.Size)
}

// output makes the result of a scan.
func (w *window) output(path string, in Input, enc textfile.Encoding, eol textfile.EOL) Output {
	content := strings.Join(w.lines, "\n")
	n, from, total := len(w.lines), w.from, w.total
	if n > 0 && from+n-1 == total && w.ended && !w.stopped { // programs get the text as the file has it
		content += "\n"
	}
	f := File{Content: &content, NumLines: &n, StartLine: &from, TotalLines: &total, Truncated: w.full}
	if !enc.UTF8() || len(enc.BOM()) > 0 {
		f.Encoding = enc.String()
	}
	f.Notes = w.notes(path, in, enc, eol)
	return Output{Type: "text", File: f}
}

// span names a part, such as Line 3 or Lines 3-5, and verb is what follows it.
func span(noun string, from, to int) string {
	if from == to {
		return fmt.Sprintf("%s %d", noun, from)
	}
	return fmt.Sprintf("%ss %d-%d", noun, from, to)
}

func verb(from, to int) string {
	if from == to {
		return "is"
	}
	return "are"
}

// notes says what the lines themselves do not.
func (w *window) notes(path string, in Input, enc textfile.Encoding, eol textfile.EOL) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	last := w.from + len(w.lines) - 1
	switch {
	case w.stopped:
		say("%s %s shown. The file is too large to read to the end, so its number of lines is unknown and it cannot be edited. To continue, call Read with file_path %q, offset %d and limit %d.", span("Line", w.from, last), verb(w.from, last), path, last+1, w.limit)
	case w.total == 0:
		say("The file exists but is empty.")
	case len(w.lines) == 0:
		say("The file has %s, so there is nothing at line %d. Call Read with an offset from 1 to %d.", plural.Of(w.total, "line"), w.from, w.total)
	case last < w.total:
		why := ""
		if w.full {
			why = fmt.Sprintf(" (the result is limited to about %d tokens)", w.tokens)
		}
		if in.Limit > 0 && !w.full { // who asks for so many knows how to ask for more
			say("%s of %d.", span("Line", w.from, last), w.total)
			break
		}
		say("%s of %d %s shown%s. To continue, call Read with file_path %q, offset %d and limit %d.", span("Line", w.from, last), w.total, verb(w.from, last), why, path, last+1, min(w.limit, w.total-last))
	}
	if w.cut > 0 {
		say("%s over %d characters cut off. To see the rest of line N, use Bash: sed -n 'Np' FILE | cut -c%d-", plural.Of(w.cut, "line"), maxLine, maxLine+1)
	}
	switch {
	case enc.UTF8():
	case enc.Unsure():
		say("The file is not UTF-8; it may be %s, but there is too little text to be sure. If this looks wrong, call Read with encoding set to the right one. Edits keep its bytes; unless encoding is given, only ASCII may be inserted.", enc)
	case enc.Source() != "":
		say("The file is encoded in %s (%s). Edits keep this encoding, so only characters that it can represent may be inserted.", enc, enc.Source())
	case enc.Guessed():
		say("The file is encoded in %s (guessed from its bytes). Edits keep this encoding, so only characters that it can represent may be inserted.", enc)
	default:
		say("The file is encoded in %s. Edits keep this encoding, so only characters that it can represent may be inserted.", enc)
	}
	if w.invalid {
		say("The file has bytes that are not valid UTF-8, shown as U+FFFD. Edits leave them as they are and cannot match text that contains them.")
	}
	if eol == textfile.CRLF || eol == textfile.CR || eol == textfile.Mixed {
		say("Line endings: %s. Write \\n in edits; the file's own endings are kept.", eol)
	}
	if w.total > 0 && last == w.total && !w.ended {
		say("The last line has no newline at its end.")
	}
	return out
}

// counted counts what passes.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
