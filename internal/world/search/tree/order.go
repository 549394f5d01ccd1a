package tree

import (
	"cmp"
	"strings"
	"unsafe"
)

func collect(files []*File, d *Dir) []*File {
	files = append(files, d.files...)
	for _, s := range d.subs {
		files = collect(files, s)
	}
	return files
}

// NewestFirst compares files by time and, where times agree, by path.
func NewestFirst(a, b *File) int {
	if c := cmp.Compare(b.Mtime, a.Mtime); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

func addSkipped(s *Skipped, d *Dir) {
	s.add(d.skipped)
	for _, sub := range d.subs {
		addSkipped(s, sub)
	}
}

func memory(d *Dir) int64 {
	n := int64(unsafe.Sizeof(*d)) + int64(len(d.Path)) + int64(len(d.files)+len(d.subs))*8
	for _, f := range d.files {
		n += int64(unsafe.Sizeof(*f)) + int64(len(f.Path))
	}
	for _, s := range d.subs {
		n += memory(s)
	}
	return n
}
