package search

import (
	"bytes"
	"errors"

	"github.com/haftdev/haft/internal/search/rawfs"
)

// window is how much of a file is in memory at a time if it is too large to be read as
// a whole. A longer line makes it grow.
const window = 32 << 20

// named searches the file at a path, in pieces if it is too large.
func (w *worker) named(path string, st *Stats) (hit Hit, ok bool, err error) {
	text, err := w.r.read(path)
	if errors.Is(err, errTooLarge) {
		return w.searchLarge(st)
	}
	if err != nil {
		return Hit{}, false, err
	}
	st.Bytes = int64(len(text))
	hit, ok, _ = w.c.collect(text, true)
	return hit, ok, nil
}

// searchLarge searches a file that the query names and that is too large to be in memory,
// piece by piece. Each piece ends with a line, so that matches over several lines cannot
// be found in this way.
func (w *worker) searchLarge(st *Stats) (hit Hit, ok bool, err error) {
	if w.scan.q.Multiline || isUTF16(w.r.buf) {
		return Hit{}, false, errTooLarge
	}
	if err := w.r.file.Rewind(); err != nil {
		return Hit{}, false, err
	}
	p := pieces{r: &w.r, file: w.r.file, limit: min(window, w.r.max)}
	w.c.begin()
	binary := false
	for !p.end {
		text, err := p.next(w.c.keep())
		if err != nil {
			return Hit{}, false, err
		}
		var enough bool
		if enough, binary = w.c.piece(text, p.shift, p.kept); enough || binary {
			break
		}
	}
	st.Bytes += p.read
	if binary {
		return Hit{Count: max(1, w.c.hit.Count), Binary: true}, true, nil
	}
	return w.c.hit, w.c.hit.Count > 0, nil
}

// pieces reads a file in pieces of whole lines.
type pieces struct {
	r     *reader
	file  rawfs.File
	limit int64
	buf   []byte
	full  int   // bytes of buf that were read
	used  int   // of them, those that were given out
	shift int   // how far the text moved from one piece to the next
	kept  int   // bytes of a piece that were part of the one before
	read  int64 // bytes of the file so far
	end   bool
}

// next returns the next piece. It begins with what the one before had from keep on.
func (p *pieces) next(keep int) ([]byte, error) {
	p.shift, p.kept = keep, p.used-keep
	p.full = copy(p.buf, p.buf[keep:p.full])
	carried := p.full
	for want := carried + int(p.limit); ; want *= 2 {
		if len(p.buf) < want+1 {
			p.buf = append(make([]byte, 0, want+1), p.buf[:p.full]...)[:want+1]
		}
		if err := p.fill(want); err != nil {
			return nil, err
		}
		if p.end {
			if p.full > 0 && p.buf[p.full-1] != '\n' {
				p.buf[p.full] = '\n'
				p.full++
			}
			p.used = p.full
			return p.buf[:p.used], nil
		}
		if i := bytes.LastIndexByte(p.buf[p.kept:p.full], '\n'); i >= 0 {
			p.used = p.kept + i + 1
			return p.buf[:p.used], nil
		}
		if int64(want-carried) > p.r.max {
			return nil, errTooLarge // one line of it
		}
	}
}

// fill reads until buf has want bytes, or to the end.
func (p *pieces) fill(want int) error {
	for p.full < want {
		if p.r.stop != nil && p.r.stop() {
			return errStopped
		}
		n, err := p.file.Read(p.buf[p.full:min(want, p.full+maxRead)])
		if err != nil {
			return err
		}
		if n == 0 {
			p.end = true
			return nil
		}
		p.full += n
		p.read += int64(n)
	}
	return nil
}

// keep returns from where on the current piece is needed as context of the next one, and
// counts the lines before: the piece may be gone when they are asked for.
func (c *collector) keep() int {
	start := len(c.text)
	for range c.q.Before {
		if start <= 0 {
			break
		}
		start = bytes.LastIndexByte(c.text[:start-1], '\n') + 1
	}
	c.lineNumber(start)
	return start
}
