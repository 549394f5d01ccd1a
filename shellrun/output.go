package shellrun

import (
	"bytes"
	"os"
	"sync"
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
