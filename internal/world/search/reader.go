package search

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/world/search/rawfs"
	"github.com/haftdev/haft/internal/world/search/rx"
)

const (
	firstRead = 128 << 10 // enough for nearly every source file
	maxRead   = 8 << 20   // between two looks at the clock
	keepBuf   = 4 << 20   // larger buffers are not kept
	sniff     = 64 << 10  // how far ripgrep looks for a NUL before it searches
)

var (
	errTooLarge = errors.New("file too large")
	errBinary   = errors.New("binary file")
	errStopped  = errors.New("search stopped")
	errNothing  = errors.New("nothing that could match")
)

// reader reads whole files into a buffer it uses again and again. It belongs to
// one goroutine, which closes it.
type reader struct {
	file rawfs.File // the last one, if open
	open bool
	buf  []byte
	path []byte
	max  int64
	stop func() bool
	// explicit is for a file named in the query: links are followed, and binary
	// files are read to the end.
	explicit bool
	// shortIsEnd: on local file systems a read that returns less than asked for has
	// reached the end, which saves a system call per file.
	shortIsEnd bool
	// sieve reports whether a piece of text may hold something of interest; nil means
	// that every piece does. A large file of which no piece does is not kept in
	// memory as a whole; read then gives errNothing.
	sieve  func([]byte) bool
	sifted int64 // bytes of the file that gave errNothing
	// legacy reads what is not UTF-8; see Options.Decode. last is what it said of the last file, if it was asked.
	legacy func(path string, raw []byte) (Decoded, bool)
	last   Decoded
}

// read gives the text of a file as UTF-8, ending with a line break that it adds if
// need be, and without a byte order mark. It is valid until the next call, and so long
// the file is open.
func (r *reader) read(path string) (text []byte, err error) {
	r.close()
	r.path = append(append(r.path[:0], path...), 0)
	if r.file, err = rawfs.Open(r.path, r.explicit); err != nil {
		return nil, err
	}
	r.open = true
	if r.explicit {
		st, err := r.file.Stat()
		if err != nil {
			return nil, err
		}
		if st.Kind != rawfs.Regular {
			return nil, errors.New("not a regular file")
		}
	}
	n, err := r.fill(r.file)
	if err != nil {
		return nil, err
	}
	return r.decode(path, n), nil
}

// close closes the last file.
func (r *reader) close() {
	if r.open {
		r.file.Close()
		r.open = false
	}
}

// fill reads f into buf, leaving room for a byte. Most files fit into the first
// read; before a larger one is read to the end it must look like text.
func (r *reader) fill(f rawfs.File) (int, error) {
	if cap(r.buf) > keepBuf {
		r.buf = nil
	}
	if r.buf == nil {
		r.buf = make([]byte, firstRead+1)
	}
	n, end, err := r.more(f, 0, firstRead)
	if err != nil || end {
		return n, err
	}
	if !r.explicit && bytes.IndexByte(r.buf[:sniff], 0) >= 0 && !isUTF16(r.buf) {
		return 0, errBinary
	}
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if st.Size > r.max {
		return 0, errTooLarge
	}
	if r.sieve != nil && !isUTF16(r.buf) && (r.legacy == nil || isUTF8(r.buf[:n])) {
		if n, err = r.sift(f, n); err != nil {
			return 0, err
		}
	}
	for want := max(st.Size+1, 2*firstRead); ; want *= 2 {
		if int64(len(r.buf)) <= want {
			r.buf = append(make([]byte, 0, want+1), r.buf[:n]...)[:want+1]
		}
		if n, end, err = r.more(f, n, len(r.buf)-1); err != nil || end {
			return n, err
		}
	}
}

// sift reads the rest of f, of which buf holds the first n bytes, piece by piece through
// the sieve. It gives errNothing, or how much of the beginning is in buf.
func (r *reader) sift(f rawfs.File, n int) (int, error) {
	if r.sieve(r.buf[:n]) {
		return n, nil
	}
	r.sifted = int64(n)
	for {
		copy(r.buf, r.buf[n-rx.Overlap:n])
		end, err := false, error(nil)
		if n, end, err = r.more(f, rx.Overlap, firstRead); err != nil {
			return 0, err
		}
		if r.sieve(r.buf[:n]) {
			return 0, f.Rewind()
		}
		if r.sifted += int64(n - rx.Overlap); end {
			return 0, errNothing
		}
		if r.sifted > r.max {
			return 0, errTooLarge
		}
	}
}

// more reads on from n until limit or the end of the file.
func (r *reader) more(f rawfs.File, n, limit int) (int, bool, error) {
	for n < limit {
		if int64(n) > r.max {
			return 0, false, errTooLarge
		}
		if r.stop != nil && r.stop() {
			return 0, false, errStopped
		}
		want := r.buf[n:min(limit, n+maxRead)]
		m, err := f.Read(want)
		if err != nil {
			return 0, false, err
		}
		n += m
		if m == 0 || m < len(want) && r.shortIsEnd {
			return n, true, nil
		}
	}
	return n, false, nil
}

// decode makes UTF-8 of the first n bytes.
func (r *reader) decode(path string, n int) []byte {
	b := r.buf[:n]
	r.last = Decoded{}
	if isUTF16(b) {
		b = fromUTF16(b)
	} else if d, ok := r.decodeLegacy(path, b); ok {
		b, r.last = d.Text, d
	} else {
		b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	}
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}

func (r *reader) decodeLegacy(path string, b []byte) (Decoded, bool) {
	if r.legacy == nil || utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return Decoded{}, false
	}
	return r.legacy(path, b)
}

// isUTF8 reports whether a piece of a file is UTF-8, but for a character that is cut at its end.
func isUTF8(b []byte) bool {
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// lasting reports whether the text of the last file may be kept for as long as its bytes are the same.
func (r *reader) lasting() bool { return !r.last.Doubtful && !r.last.Volatile }

func isUTF16(b []byte) bool {
	return len(b) >= 2 && (b[0] == 0xFF && b[1] == 0xFE || b[0] == 0xFE && b[1] == 0xFF)
}

func fromUTF16(b []byte) []byte {
	hi, lo := 1, 0
	if b[0] == 0xFE {
		hi, lo = 0, 1
	}
	units := make([]uint16, 0, len(b)/2)
	for b = b[2:]; len(b) >= 2; b = b[2:] {
		units = append(units, uint16(b[hi])<<8|uint16(b[lo]))
	}
	out := make([]byte, 0, len(units)+len(units)/8+1)
	for _, c := range utf16.Decode(units) {
		out = utf8.AppendRune(out, c)
	}
	if len(b) == 1 {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
