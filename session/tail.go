package session

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/model"
)

// A tail is the lines at the end of a log. It grows towards the beginning, one compaction
// at a time, until it contains what is needed.
type tail struct {
	name  string   // of the log, for messages
	file  *os.File // the file of the log; nil if it is not in a file
	next  func() ([]byte, error, bool)
	stop  func()
	size  int64
	lines []*line
	// damaged counts lines that could not be parsed; torn is set if the log's last line is
	// incomplete.
	damaged int
	torn    bool

	buf   []byte // what was read and not looked at
	from  int64  // where it begins in the log
	done  bool   // nothing comes before it
	floor int64  // where reading stops, instead of at the beginning of the file
}

// openTail opens the journal at path. Nothing is read yet.
func openTail(path string) (*tail, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open session: %w", err)
	}
	t := newTail(path, backward(file, info.Size()), info.Size())
	t.file = file
	return t, nil
}

func newTail(name string, pieces iter.Seq2[[]byte, error], size int64) *tail {
	t := &tail{name: name, size: size, from: size, done: size == 0}
	t.next, t.stop = iter.Pull2(pieces)
	return t
}

func (t *tail) close() {
	t.stop()
	if t.file != nil {
		t.file.Close()
	}
}

// whole reports whether the tail reaches the beginning of the log.
func (t *tail) whole() bool { return t.done && len(t.buf) == 0 }

// atFloor reports whether the tail reaches where reading ends.
func (t *tail) atFloor() bool { return t.floor > 0 && t.from+int64(len(t.buf)) <= t.floor }

// grow reads back to the compaction before the lines that were read, or to the beginning of
// the log.
func (t *tail) grow() error {
	slices.Reverse(t.lines)
	defer func() { slices.Reverse(t.lines) }()
	for !t.whole() && !t.atFloor() {
		end := t.from + int64(len(t.buf))
		raw, err := t.previous()
		if err != nil {
			return err
		}
		if len(raw) == 0 {
			continue
		}
		if end == t.size {
			t.torn = !bytes.HasSuffix(raw, []byte("\n"))
		}
		l := t.parse(raw)
		if l == nil {
			continue
		}
		l.end = end
		t.lines = append(t.lines, l)
		if l.isBoundary() {
			break
		}
	}
	return nil
}

// previous returns the line before those that were examined, nothing if there is none.
func (t *tail) previous() ([]byte, error) {
	for {
		i := -1
		if len(t.buf) > 0 {
			i = bytes.LastIndexByte(t.buf[:len(t.buf)-1], '\n')
		}
		if i >= 0 || t.done {
			raw := t.buf[i+1:]
			t.buf = t.buf[:i+1]
			return raw, nil
		}
		if err := t.back(); err != nil {
			return nil, err
		}
	}
}

// back reads backwards until it finds the end of a line; a long line is assembled only
// once.
func (t *tail) back() error {
	pieces := [][]byte{t.buf}
	for !t.done {
		piece, err, ok := t.next()
		if err != nil {
			return err
		}
		if ok {
			pieces = append(pieces, piece)
			t.from -= int64(len(piece))
		}
		t.done = !ok || t.from == 0
		if bytes.IndexByte(piece, '\n') >= 0 {
			break
		}
	}
	slices.Reverse(pieces)
	t.buf = slices.Concat(pieces...)
	return nil
}

// parse parses a line, or returns nil. Lines that are not JSON are counted, except the
// zeros that a file system leaves after a power failure.
func (t *tail) parse(raw []byte) *line {
	raw = bytes.Trim(raw, "\x00 \t\r\n")
	if len(raw) == 0 {
		return nil
	}
	l := &line{}
	if l.decode(raw) != nil {
		t.damaged++
		return nil
	}
	if l.isLink() {
		l.raw = bytes.Clone(raw)
	}
	return l
}

func (t *tail) read(ctx context.Context, agent, at string) (*reading, error) {
	r := &reading{}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.grow(); err != nil {
			return nil, err
		}
		tree := plant(t.lines)
		tree.side = agent != ""
		if chain, ok := tree.chain(at, t.whole(), t.damaged > 0); ok {
			r.take(t, tree, chain, at)
			return r, nil
		}
		if t.whole() {
			return nil, fmt.Errorf("%w: %s", ErrNoMessage, at)
		}
	}
}

// after reads the lines after a prefix as its continuation, if they are one.
func (t *tail) after(p *prefix) (*reading, bool) {
	tree := plant(t.lines)
	tree.preceding = p.index.Last
	chain, ok := tree.chain("", false, false)
	if _, any := tree.before(len(tree.lines)); !any {
		chain, ok = nil, true
	}
	if !ok || t.damaged > 0 || len(chain) > 0 && chain[0].parent() != p.index.Last || !p.follows(t.lines) || !continues(chain) {
		return nil, false
	}
	r := &reading{prefix: p}
	r.tally, r.all = p.index.Tally.tally(), p.index.Tally.tally()
	r.take(t, tree, chain, "")
	r.damage = p.index.Damage
	return r, true
}

// continues reports whether a chain starts independently of the answer before it, with a
// message of the user without results.
func continues(chain []*line) bool {
	if len(chain) == 0 {
		return true
	}
	i := slices.IndexFunc(chain, func(l *line) bool { return !l.isLink() })
	if i < 0 {
		return true
	}
	m, err := chain[i].message()
	return err == nil && m.Role == model.User && m.Error == "" &&
		!slices.ContainsFunc(m.Content, func(b model.Block) bool { return b.Type == model.ToolResult }) &&
		slices.ContainsFunc(m.Content, func(b model.Block) bool { return b.Type != model.Text || b.Text != "" })
}
