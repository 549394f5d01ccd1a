package search

import (
	"bytes"

	"github.com/haftdev/haft/internal/world/search/rawfs"
)

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
	// binary says that a NUL took the place of a line break
	binary bool
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
		if i := bytes.LastIndexByte(p.buf[p.kept:p.full], 0); i >= 0 && bytes.IndexByte(p.buf[p.kept:p.full], 0) < i { // a NUL ends a line of a binary file, of which another one tells
			p.buf[p.kept+i], p.binary = '\n', true
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
