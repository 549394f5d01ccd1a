package workspace

import (
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/readstate"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// maxLoad is the size of the largest file that is loaded into memory.
const maxLoad = 256 << 20

// File is a file in memory.
type File struct {
	Path string // physical
	Info disk.Info
	Raw  []byte
	Hash string         // of Raw
	Text *textfile.Text // nil when it is not text
	Kind error          // then, a *textfile.BinaryError
}

// entry is what reading the whole of f leaves in the read state.
func (f *File) entry(ranges ...readstate.Range) readstate.Entry {
	e := readstate.Entry{Path: f.Path, Hash: f.Hash, Size: f.Info.Size, ModTime: f.Info.ModTime, Base: f.Raw, Ranges: ranges}
	if f.Text != nil {
		e.Encoding, e.EOL = f.Text.Encoding().String(), string(f.Text.EOL())
	}
	return e
}
