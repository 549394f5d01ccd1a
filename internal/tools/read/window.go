package read

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// maxLine is how many characters of a line are shown.
const maxLine = 2000

// window keeps a range of the lines that pass and counts the others. Its memory is that of the lines it shows.
type window struct {
	newline     byte
	from, limit int   // first line wanted, counted from 1, and how many
	tokens      int   // most tokens, by estimate
	most        int64 // bytes after which it stops, once the range is complete

	lines   []string
	used    int  // tokens so far
	full    bool // the token limit ended the range
	cut     int  // lines that were cut
	invalid bool // a line held bytes that are not UTF-8
	total   int  // lines that passed
	ended   bool // the last one had a newline
	stopped bool // there is more than was read

	line    []byte // the present line, as far as it may be shown
	skipped int    // bytes of it that may not
	open    bool   // there is a present line
}

func newWindow(in Input, eol textfile.EOL) *window {
	w := &window{newline: '\n', from: max(in.Offset, 1), limit: cmp.Or(in.Limit, defaultLimit), tokens: in.tokens(), most: maxScan}
	if eol == textfile.CR {
		w.newline = '\r'
	}
	return w
}

// scan reads to the end, or as far as it may, by way of buf.
func (w *window) scan(r io.Reader, buf []byte) error {
	for read := int64(0); ; {
		n, err := r.Read(buf)
		w.take(buf[:n])
		if read += int64(n); read > w.most && w.complete() {
			w.stopped, w.ended = true, true
			return nil
		}
		if err == io.EOF {
			if w.open {
				w.endLine()
			} else {
				w.ended = true
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *window) take(b []byte) {
	for len(b) > 0 {
		if !w.wanted() && !w.open {
			b = w.skip(b)
			continue
		}
		w.open = true
		i := bytes.IndexByte(b, w.newline)
		if i < 0 {
			w.keep(b)
			return
		}
		w.keep(b[:i])
		w.endLine()
		b = b[i+1:]
	}
}

// wanted reports whether the line that comes next is to be shown.
func (w *window) wanted() bool {
	return w.total+1 >= w.from && !w.complete()
}

// complete reports whether nothing more will be shown.
func (w *window) complete() bool { return len(w.lines) >= w.limit || w.full }

// skip counts lines up to the next wanted one, many at a time, and returns the rest.
func (w *window) skip(b []byte) []byte {
	need := w.from - 1 - w.total // lines before the wanted ones
	if need <= 0 || bytes.Count(b, []byte{w.newline}) < need {
		w.total += bytes.Count(b, []byte{w.newline})
		w.open = b[len(b)-1] != w.newline
		return nil
	}
	for ; need > 0; need-- {
		b = b[bytes.IndexByte(b, w.newline)+1:]
		w.total++
	}
	return b
}

// keep adds to the present line what may be shown of it.
func (w *window) keep(b []byte) {
	if room := maxLine*utf8.UTFMax - len(w.line); len(b) > room {
		w.skipped += len(b) - room
		b = b[:room]
	}
	w.line = append(w.line, b...)
}

func (w *window) endLine() {
	wanted := w.wanted()
	w.total++
	line, skipped := w.line, w.skipped
	w.line, w.skipped, w.open = w.line[:0], 0, false
	if !wanted {
		return
	}
	if w.newline == '\n' {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	text := string(line)
	if !utf8.ValidString(text) {
		w.invalid = w.invalid || skipped == 0 // a cut may split a character
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text, more := cutLine(text, skipped)
	if cost := tokens(text); w.used+cost > w.tokens && len(w.lines) > 0 {
		w.full = true
		return
	} else {
		w.used += cost
	}
	if more {
		w.cut++
	}
	w.lines = append(w.lines, text)
}

// output makes the result of a scan.
func (w *window) output(path string, in Input, enc textfile.Encoding, eol textfile.EOL) callOutput {
	content := strings.Join(w.lines, "\n")
	n, from, total := len(w.lines), w.from, w.total
	if n > 0 && from+n-1 == total && w.ended && !w.stopped { // programs get the text as the file has it
		content += "\n"
	}
	f := file{Content: &content, NumLines: &n, StartLine: &from, TotalLines: &total, Truncated: w.full}
	if !enc.UTF8() || len(enc.BOM()) > 0 {
		f.Encoding = enc.String()
	}
	f.Notes = w.notes(path, in, enc, eol)
	return callOutput{Type: "text", File: f}
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

// cutLine shortens a line to what is shown and says how much is missing.
func cutLine(s string, skipped int) (string, bool) {
	if skipped == 0 && len(s) <= maxLine {
		return s, false
	}
	end := len(s)
	n := 0
	for i := range s {
		if n == maxLine {
			end = i
			break
		}
		n++
	}
	if missing := len(s) - end + skipped; missing > 0 {
		return fmt.Sprintf("%s… [%s]", s[:end], plural.Of(missing, "more byte")), true
	}
	return s, false
}

// tokens estimates what a line costs: four characters of ASCII make a token, any other character is one.
func tokens(s string) int {
	ascii := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return 2 + ascii/4 + (utf8.RuneCountInString(s) - ascii)
}
