package shellrun

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/plural"
)

const (
	// headBytes and tailBytes are what an Output keeps in memory of its
	// beginning and end: enough for a result of 30,000 characters of four
	// bytes.
	headBytes = 128 << 10
	tailBytes = 128 << 10
	// quotaRest is kept free of each quota, for the tail that closes a file
	// which could not hold all.
	quotaRest = tailBytes + 512
)

// An Output is what a command wrote to standard output and standard error, in order of
// arrival. It takes a bounded amount of memory: the first and the last bytes. Once there are
// more, a file holds all of them, up to the quotas. Every byte is counted. An Output is safe
// for concurrent use.
type Output struct {
	name  string
	spool *spool

	mu       sync.Mutex
	size     int64
	newlines int64
	last     byte
	head     []byte
	tail     []byte // the last bytes, at least tailBytes of them if there were as many
	file     *spoolFile
	kept     int64 // the first bytes, as many as are in file
	spoolErr error
	ended    bool
	changed  chan struct{} // closed by the next write; nil if nobody waits
}

// newOutput makes an Output. With eager set the file is made at once, so that
// others can follow it.
func newOutput(name string, s *spool, eager bool) *Output {
	o := &Output{name: name, spool: s}
	if eager {
		o.openFileLocked()
	}
	return o
}

// Counts is the size of an Output.
type Counts struct {
	Bytes int64
	Lines int64 // a last line without a newline counts
}

// Write appends to the output. It never fails: if the disk is full, only the middle of the
// output is lost, and the output says so.
func (o *Output) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil && o.size+int64(len(p)) > headBytes {
		o.openFileLocked()
	}
	if o.file != nil && o.kept == o.size { // a file with a hole in it would lie
		o.kept += int64(o.file.write(p, quotaRest))
	}
	room := headBytes - len(o.head)
	o.head = append(o.head, p[:min(room, len(p))]...)
	o.tail = appendTail(o.tail, p)
	o.size += int64(len(p))
	o.newlines += int64(bytes.Count(p, []byte{'\n'}))
	o.last = p[len(p)-1]
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return len(p), nil
}

// Changed returns a channel that is closed when more has been written.
func (o *Output) Changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

// appendTail adds p to a tail of the last bytes, and lets go of old ones when
// they are as many as those to be held.
func appendTail(tail, p []byte) []byte {
	if len(p) >= tailBytes {
		return append(tail[:0], p[len(p)-tailBytes:]...)
	}
	tail = append(tail, p...)
	if len(tail) > 2*tailBytes {
		tail = append(tail[:0], tail[len(tail)-tailBytes:]...)
	}
	return tail
}

// openFileLocked makes the file and puts the output so far into it. Its absence is
// noted in the excerpt, not to the command.
func (o *Output) openFileLocked() {
	if o.spoolErr != nil {
		return
	}
	o.file, o.spoolErr = o.spool.create(o.name)
	if o.file == nil {
		return
	}
	o.kept = int64(o.file.write(o.head, quotaRest))
	if o.ended {
		o.file.close()
	}
}

// Counts returns the exact size so far.
func (o *Output) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.countsLocked()
}

func (o *Output) countsLocked() Counts {
	c := Counts{Bytes: o.size, Lines: o.newlines}
	if o.size > 0 && o.last != '\n' {
		c.Lines++
	}
	return c
}

// Path is the file with the whole output, or "" if the output is small enough
// to need none.
func (o *Output) Path() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return ""
	}
	return o.file.path
}

// Since returns up to limit bytes from offset off on, and the offset at which they begin: off,
// or a later one if the bytes in between exceeded the quota and were dropped. No bytes means
// that there are none yet.
func (o *Output) Since(off int64, limit int) (data []byte, from int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from = min(max(off, 0), o.size)
	for len(data) < limit {
		// What memory and file hold may meet in the middle of a character, so
		// the pieces are joined.
		piece, at := o.pieceLocked(from+int64(len(data)), limit-len(data))
		if len(data) == 0 {
			from = at
		}
		if len(piece) == 0 || at != from+int64(len(data)) {
			break
		}
		data = append(data, piece...)
	}
	return data, from
}

// pieceLocked is Since from whichever place holds the next bytes. The piece is
// valid until the next write.
func (o *Output) pieceLocked(off int64, limit int) ([]byte, int64) {
	tailFrom := o.size - int64(len(o.tail))
	var piece []byte
	switch {
	case off >= tailFrom:
		piece = o.tail[off-tailFrom:]
	case off < int64(len(o.head)):
		piece = o.head[off:]
	default:
		if off < o.kept {
			data := make([]byte, min(int64(limit), o.kept-off))
			if n, _ := o.readFile(data, off); n > 0 {
				return data[:n], off
			}
		}
		off, piece = tailFrom, o.tail // over the quota, or removed for lack of space
	}
	return piece[:min(limit, len(piece))], off
}

func (o *Output) readFile(data []byte, off int64) (int, error) {
	if !o.ended {
		return o.file.file.ReadAt(data, off)
	}
	file, err := os.Open(o.file.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return file.ReadAt(data, off)
}

// Excerpt returns at most limit characters of the output: all of it if it fits, otherwise its
// beginning and its end. If raw is set, terminal escapes are kept.
func (o *Output) Excerpt(limit int, raw bool) Excerpt {
	o.mu.Lock()
	defer o.mu.Unlock()
	clean := Clean
	if raw {
		clean = func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	}
	e := Excerpt{Total: o.countsLocked()}
	if o.size <= int64(len(o.head)) {
		if text := clean(string(o.head)); utf8.RuneCountInString(text) <= limit {
			e.Text = text
			return e
		}
		if o.file == nil { // what is shown in part is kept as a whole
			o.openFileLocked()
		}
	}
	if o.file != nil {
		e.Path = o.file.path
	}
	e.Truncated = true
	const noteRoom = 1000
	for half := max(limit-noteRoom, 0) / 2; ; {
		head, tail := o.endsLocked(half)
		e.Text = o.noteLocked(e, head, tail) + clean(string(head)) + "\n\n[…]\n\n" + clean(string(tail))
		over := utf8.RuneCountInString(e.Text) - limit // the path in the note may be long
		if over <= 0 {
			return e
		}
		if half == 0 {
			e.Text = string([]rune(e.Text)[:limit])
			return e
		}
		half = max(0, half-(over+1)/2)
	}
}

// endsLocked cuts up to n characters from both ends, at the ends of lines where
// they are not too far.
func (o *Output) endsLocked(n int) (head, tail []byte) {
	head = firstChars(o.head, n)
	head = head[:wholeText(head)]
	if i := bytes.LastIndexByte(head, '\n'); i >= len(head)/2 {
		head = head[:i+1]
	}
	tail = o.tail
	tail = tail[max(0, int64(len(tail))-(o.size-int64(len(head)))):] // never the same bytes twice
	tail = afterEscape(tail, lastChars(tail, n))
	if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 && i+1 < len(tail) {
		tail = tail[i+1:]
	}
	return head, tail
}

func (o *Output) noteLocked(e Excerpt, head, tail []byte) string {
	omitted := o.size - int64(len(head)) - int64(len(tail))
	newlines := o.newlines - int64(bytes.Count(head, []byte{'\n'})) - int64(bytes.Count(tail, []byte{'\n'}))
	note := fmt.Sprintf("[Output truncated: %d bytes, %s in total. "+
		"The first %d and last %d bytes are shown; %d bytes with %s between them are left out.",
		e.Total.Bytes, plural.Of(e.Total.Lines, "line"), len(head), len(tail), omitted, plural.Of(newlines, "line end"))
	switch {
	case o.file == nil:
		note += fmt.Sprintf(" They are lost: %v.", o.spoolErr)
	case o.kept < o.size:
		note += fmt.Sprintf(" %s has the first %d bytes", e.Path, o.kept)
		if o.file.err != nil {
			note += fmt.Sprintf(" (%v)", o.file.err)
		}
		note += "; the rest was over the quota or could not be written."
	default:
		note += fmt.Sprintf(" The whole output is in %s.", e.Path)
	}
	return note + "]\n"
}

// firstChars returns the beginning of p with n characters, bytes that are no
// UTF-8 counting one each.
func firstChars(p []byte, n int) []byte {
	i := 0
	for ; n > 0 && i < len(p); n-- {
		_, size := utf8.DecodeRune(p[i:])
		i += size
	}
	return p[:i]
}

// lastChars is firstChars from the other end.
func lastChars(p []byte, n int) []byte {
	i := len(p)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRune(p[:i])
		i -= size
	}
	return p[i:]
}

// afterEscape shortens rest, the end of p, if it begins within a terminal
// escape.
func afterEscape(p, rest []byte) []byte {
	cut := len(p) - len(rest)
	i := bytes.LastIndexByte(p[max(0, cut-maxEscape):cut], '\x1b')
	if i < 0 {
		return rest
	}
	escape := max(0, cut-maxEscape) + i
	end := escape + len(wholeEscape.Get().Find(p[escape:min(len(p), escape+maxEscape)]))
	return p[max(cut, end):]
}

// keep makes the file for what is to come, if there is none yet.
func (o *Output) keep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		o.openFileLocked()
	}
}

// lastLines returns up to n last lines, cleaned, within about limit bytes.
func (o *Output) lastLines(n, limit int) (last string, endsLine bool, total Counts) {
	o.mu.Lock()
	tail := string(o.tail[max(0, len(o.tail)-limit):])
	endsLine, total = o.last == '\n', o.countsLocked()
	o.mu.Unlock()
	lines := strings.Split(strings.TrimRight(Clean(tail), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n"), endsLine, total
}

// Close marks the output as complete and closes the file. If the file could not hold
// everything, its last lines say so and repeat the end of the output.
func (o *Output) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	o.ended = true
	if o.file == nil {
		return
	}
	if missing := o.size - o.kept; missing > 0 {
		tail := o.tail[max(0, len(o.tail)-tailBytes):]
		tail = tail[max(0, int64(len(tail))-missing):]
		note := fmt.Sprintf("\n[%d bytes are missing here: the quota for command output was reached. "+
			"The last %d bytes follow.]\n", missing-int64(len(tail)), len(tail))
		o.file.write(append([]byte(note), tail...), 0)
	}
	o.file.close()
}
