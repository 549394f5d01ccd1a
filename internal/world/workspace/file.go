package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/guard"
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

// stream opens a regular file for reading. The caller closes it. For anything but a regular
// file it returns a *Refusal: opening a FIFO or a device could hang or never end.
func (w *Workspace) stream(f guard.Facts) (disk.File, disk.Info, error) {
	if err := w.readable(f); err != nil {
		return nil, disk.Info{}, err
	}
	dir, err := w.fs.OpenDir(filepath.Dir(f.Real))
	if err != nil {
		return nil, disk.Info{}, w.openError(f, err)
	}
	defer dir.Close()
	file, err := dir.Open(filepath.Base(f.Real), os.O_RDONLY, 0)
	if err != nil {
		return nil, disk.Info{}, w.openError(f, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode.IsRegular() {
		err = refuse(NotAFile, "%s is now a %s, not a file.", f.Path, guard.Facts{Exists: true, Info: info}.Kind())
	}
	if err != nil {
		file.Close()
		return nil, disk.Info{}, err
	}
	return file, info, nil
}

// Load reads a whole file.
func (w *Workspace) Load(f guard.Facts) (*File, error) {
	in, info, err := w.stream(f)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if info.Size > maxLoad {
		return nil, refuse(TooLarge, "%s has %d bytes; files over %d bytes are not edited. Use Bash with sed or a script.", f.Path, info.Size, maxLoad)
	}
	raw := make([]byte, info.Size)
	n, err := io.ReadFull(in, raw)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("could not read %s: %w", f.Path, err)
	}
	out := &File{Path: f.Real, Info: info, Raw: raw[:n]}
	out.Hash = blob.Digest(out.Raw)
	enc, err := textfile.DetectWith(out.Raw, w.hints(f.Real))
	if err != nil {
		out.Kind = err
		return out, nil
	}
	out.Text = textfile.Decode(out.Raw, enc)
	return out, nil
}

// Saw records that an agent was shown lines of a file.
func (w *Workspace) Saw(agent string, e readstate.Entry) {
	state := w.Seen(agent)
	before, known := state.Get(e.Path)
	state.Put(e)
	if w.onRead == nil {
		return
	}
	if now, _ := state.Get(e.Path); !known || now.Hash != before.Hash || !slices.Equal(now.Ranges, before.Ranges) {
		now.Base = nil
		w.onRead(agent, now)
	}
}

// entry is what reading the whole of f leaves in the read state.
func (f *File) entry(ranges ...readstate.Range) readstate.Entry {
	e := readstate.Entry{Path: f.Path, Hash: f.Hash, Size: f.Info.Size, ModTime: f.Info.ModTime, Base: f.Raw, Ranges: ranges}
	if f.Text != nil {
		e.Encoding, e.EOL = f.Text.Encoding().String(), string(f.Text.EOL())
	}
	return e
}

// openError words what can go wrong between looking at a file and opening it.
func (w *Workspace) openError(f guard.Facts, err error) error {
	switch {
	case errors.Is(err, disk.ErrLink):
		return refuse(Swapped, "%s was replaced by a symbolic link while it was being opened. Nothing was read or written. Check the path before you try again.", f.Path)
	case errors.Is(err, fs.ErrNotExist):
		return w.missing(f)
	case errors.Is(err, fs.ErrPermission):
		return refuse(NoPermission, "Permission denied: %s cannot be opened by this user.", f.Path)
	}
	return fmt.Errorf("could not open %s: %w", f.Path, err)
}
