package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A changes is a comparison of a folder with what a command made of it.
type changes struct {
	*reader
	dir     string // the folder
	upper   string // the upper directory, or the copy
	start   moment
	depth   int
	entries []entry
	unsure  []string // changed by others while the command ran
	leftOut []string // sockets and devices
}

// maxDepth is how deep folders are followed. Each level holds two files open.
const maxDepth = 400

// readLayer reads an upper directory.
func readLayer(r *reader, dir, upper string, start moment) (*changes, error) {
	c := &changes{reader: r, dir: dir, upper: upper, start: start}
	below, err := openFolder(dir, false)
	if err != nil {
		return nil, err
	}
	defer below.Close()
	above, err := openFolder(upper, true)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := c.compareDir(below, above, "."); err != nil {
		return nil, fmt.Errorf("read what changed in %s: %w", dir, err)
	}
	return c, nil
}

// compareDir compares a folder that is in both. rel is its path below the folder.
func (c *changes) compareDir(below, above folder, rel string) error {
	before, err := describeDir(below)
	if err != nil {
		return err
	}
	after, err := describeDir(above)
	if err != nil {
		return err
	}
	// The folder on top has no attributes of its own before a command gives it some.
	if rel == "." && after.Attrs == "" {
		after.Attrs = before.Attrs
	}
	if err := c.add(entry{path: c.abs(rel), before: before, after: after}); err != nil {
		return err
	}
	return c.walk(&below, above, rel)
}

func describeDir(f folder) (version, error) {
	st, err := statFile(f.fd)
	return version{File: checkpoint.File{Mode: st.mode, Attrs: checkpoint.AttrsOf(f.fd)}}, err
}

func (c *changes) abs(rel string) string {
	if rel == "." {
		return c.dir
	}
	return c.dir + "/" + rel
}

// walk looks at all that a layer has in a folder. below is nil if the folder is new.
func (c *changes) walk(below *folder, above folder, rel string) error {
	if c.depth++; c.depth > maxDepth {
		return &LimitError{fmt.Sprintf("folders nested deeper than %d", maxDepth)}
	}
	defer func() { c.depth-- }()
	list, err := above.list()
	if err != nil {
		return err
	}
	names := make(map[string]bool, len(list))
	for _, e := range list {
		names[e.Name()] = true
		if err := c.look(below, above, rel, e); err != nil {
			return err
		}
	}
	if below == nil || above.attr("user.overlay.opaque") != "y" {
		return nil
	}
	was, err := below.list()
	if err != nil {
		return err
	}
	for _, e := range was {
		if !names[e.Name()] {
			if err := c.gone(*below, e.Name(), join(rel, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// look compares one path of a layer with what is below.
func (c *changes) look(below *folder, above folder, dir string, found fs.DirEntry) error {
	name := found.Name()
	rel := join(dir, name)
	var was past
	if below != nil {
		var err error
		if was, err = c.openPast(*below, name, rel); err != nil {
			return err
		}
		defer was.close()
	}
	e := entry{path: c.abs(rel), source: source{c.upper, rel}}
	if found.Type().IsRegular() {
		return c.lookFile(&e, below, above, name, rel, was)
	}
	is, err := above.stat(name)
	if err != nil {
		return err
	}
	if isWhiteout(is) {
		if !was.exists {
			return nil // made and deleted again, or deleted by others too
		}
		return c.gone(*below, name, rel)
	}
	if is.mode.IsDir() {
		return c.lookDir(&e, below, above, name, rel, was)
	}
	if e.before, err = c.before(below, name, rel, was); err != nil {
		return err
	}
	if is.mode&(fs.ModeSocket|fs.ModeDevice) != 0 {
		c.leftOut = append(c.leftOut, e.path)
		return nil
	}
	if e.after, err = c.describe(above, name, is); err != nil {
		return err
	}
	return c.add(e)
}

// lookFile looks at a file that a layer has.
func (c *changes) lookFile(e *entry, below *folder, above folder, name, rel string, was past) (err error) {
	if e.before, err = c.before(below, name, rel, was); err != nil {
		return err
	}
	if e.after, err = c.regular(above, name); err != nil {
		return err
	}
	e.linked = was.exists && was.mode.IsRegular() && was.nlink > 1
	return c.add(*e)
}

// lookDir looks at a folder that a layer has.
func (c *changes) lookDir(e *entry, below *folder, above folder, name, rel string, was past) error {
	dir, err := above.sub(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if was.exists && was.mode.IsDir() {
		lower, err := below.sub(name)
		if err != nil {
			return err
		}
		defer lower.Close()
		return c.compareDir(lower, dir, rel)
	}
	if e.before, err = c.before(below, name, rel, was); err != nil {
		return err
	}
	if e.after, err = describeDir(dir); err != nil {
		return err
	}
	if err := c.add(*e); err != nil {
		return err
	}
	return c.walk(nil, dir, rel)
}

// A past is what was at a path before the run, open if it is a regular file.
type past struct {
	exists bool
	fd     int
	facts
}

func (p *past) close() {
	if p.exists && p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}

// openPast looks for a path before the run. Most are regular files, which are opened
// at once.
func (c *changes) openPast(below folder, name, rel string) (p past, err error) {
	p.fd, err = below.openAny(name)
	if errors.Is(err, fs.ErrNotExist) {
		return past{}, nil
	}
	if err == nil {
		p.exists = true
		if p.facts, err = statFile(p.fd); err == nil && p.mode.IsRegular() {
			c.known(p.facts, rel)
			return p, nil
		}
		p.close()
	}
	p.fd = -1
	p.facts, err = below.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return past{}, nil
	}
	p.exists = err == nil
	if err == nil && !p.mode.IsDir() {
		c.known(p.facts, rel)
	}
	return p, err
}

// known notes a file that others changed while the command ran: it is not known how it
// was before.
func (c *changes) known(st facts, rel string) {
	if c.start.after(st.stamp) {
		c.unsure = append(c.unsure, c.abs(rel))
	}
}

// before describes what was at a path that becomes something else. Of a folder all that
// was in it is gone.
func (c *changes) before(below *folder, name, rel string, was past) (version, error) {
	if !was.exists {
		return version{}, nil
	}
	if was.mode.IsDir() {
		if err := c.goneBelow(*below, name, rel); err != nil {
			return version{}, err
		}
	}
	return c.asItWas(*below, name, was)
}

// asItWas describes what was at a path, without what was in it.
func (c *changes) asItWas(below folder, name string, was past) (version, error) {
	switch {
	case !was.exists:
		return version{}, nil
	case was.fd >= 0:
		return c.content(was.fd, was.facts)
	}
	return c.describe(below, name, was.facts)
}

// gone notes that a path was deleted with all below it.
func (c *changes) gone(below folder, name, rel string) error {
	was, err := c.openPast(below, name, rel)
	if err != nil || !was.exists {
		return err
	}
	defer was.close()
	before, err := c.before(&below, name, rel, was)
	if err != nil {
		return err
	}
	return c.add(entry{path: c.abs(rel), before: before})
}

func (c *changes) goneBelow(below folder, name, rel string) error {
	if c.depth++; c.depth > maxDepth {
		return &LimitError{fmt.Sprintf("folders nested deeper than %d", maxDepth)}
	}
	defer func() { c.depth-- }()
	dir, err := below.sub(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	list, err := dir.list()
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := c.gone(dir, e.Name(), join(rel, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (c *changes) add(e entry) error {
	if e.same() {
		return nil
	}
	if err := c.count(); err != nil {
		return err
	}
	c.entries = append(c.entries, e)
	return nil
}

func isWhiteout(st facts) bool { return st.mode&fs.ModeCharDevice != 0 && st.device == 0 }

func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// regular describes a regular file with its content.
func (r *reader) regular(from folder, name string) (version, error) {
	fd, st, err := from.openRegular(name)
	if err != nil {
		return version{}, err
	}
	defer unix.Close(fd)
	return r.content(fd, st)
}

// content describes an open regular file.
func (r *reader) content(fd int, st facts) (version, error) {
	v := version{File: checkpoint.File{Mode: st.mode, Attrs: checkpoint.AttrsOf(fd)}, size: st.size, stamp: st.stamp}
	if r.bytes += v.size; r.bytes > r.limits.Bytes {
		return v, &LimitError{fmt.Sprintf("more than %d MB", r.limits.Bytes>>20)}
	}
	if v.size <= maxHeld && r.held+v.size <= maxAllHeld {
		raw, err := readAll(fd, v.size, maxHeld)
		if err != nil {
			return v, err
		}
		r.held += int64(len(raw))
		v.raw, v.held, v.size, v.Digest = raw, true, int64(len(raw)), blob.Digest(raw)
		return v, nil
	}
	h := sha256.New()
	var err error
	if v.size, err = io.Copy(h, fileReader(fd)); err != nil {
		return v, err
	}
	v.Digest = hex.EncodeToString(h.Sum(nil))
	return v, nil
}

// describe returns a path of any kind as it is. Kinds that are left out have a mode.
func (r *reader) describe(from folder, name string, st facts) (v version, err error) {
	switch {
	case st.mode.IsRegular():
		return r.regular(from, name)
	case st.mode.IsDir():
		dir, err := from.sub(name)
		if err != nil {
			return version{}, err
		}
		defer dir.Close()
		v, err = describeDir(dir)
		v.stamp = st.stamp
		return v, err
	}
	v = version{File: checkpoint.File{Mode: st.mode}, stamp: st.stamp}
	if st.mode&fs.ModeSymlink != 0 {
		v.Link, err = from.readlink(name)
	}
	return v, err
}

// read returns the content of a file in a layer or a copy.
func (s source) read(most int64) ([]byte, error) {
	top, err := openFolder(s.root, true)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	dir, err := top.below(s.name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, st, err := dir.openRegular(filepath.Base(s.name))
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAll(fd, st.size, most)
}

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{st.Ctim.Nano(), st.Ino}
}
