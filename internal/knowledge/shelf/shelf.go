// Package shelf reads the small text files in which people keep what a model
// should know: instructions, skills, commands, definitions of agents.
//
//	s, err := shelf.Confine(project)   // of somebody else: no link leads out
//	s := shelf.Open(filepath.Join(home, ".claude"))   // one's own: links are one's own too
//	file, err := s.Read("skills/pdf/SKILL.md", 1<<20)
//
// Whoever wrote a repository wrote such files too, so they are read like
// anything from a stranger: a device, a pipe, a folder in a file's place, bytes
// that are no text, and more of them than were asked for are errors or cuts, and
// never a wait.
//
// Trust: it reads below one folder and changes nothing. A link made between the
// look and the read cannot lead out of a confined shelf.
//
// Shelves are safe for concurrent use; whoever confined one closes it.
package shelf

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// A Shelf is a folder of text files.
type Shelf struct {
	dir  string
	root *os.Root // nil if links may lead anywhere
}

// Open returns the shelf in dir, which need not exist. Its links may lead
// anywhere.
func Open(dir string) *Shelf { return &Shelf{dir: dir} }

// Confine returns the shelf in dir whose links cannot lead out of it.
func Confine(dir string) (*Shelf, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	return &Shelf{dir: dir, root: root}, nil
}

// Path returns the path of a file by its name.
func (s *Shelf) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Close lets go of the folder.
func (s *Shelf) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// A File is a text that was read.
type File struct {
	// Text is the file's, without a byte order mark and with plain newlines.
	Text string
	// Size is that of the whole file in bytes, Modified when it last changed.
	Size     int64
	Modified time.Time
	// Cut files are larger than what was read.
	Cut bool
	// Mended files held bytes that are no UTF-8, each replaced by U+FFFD.
	Mended bool
}

var (
	// ErrNotRegular means that a folder, a device or a pipe has the file's name.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotText means that a file holds zero bytes, as no text does.
	ErrNotText = errors.New("not a text file in UTF-8")
)

// Read reads at most that many bytes of a file by its slash-separated name. A
// file that is not there is [fs.ErrNotExist].
func (s *Shelf) Read(name string, most int64) (File, error) {
	f, err := s.open(name)
	if err != nil {
		return File{}, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, cause(err)
	}
	if !info.Mode().IsRegular() {
		return File{}, ErrNotRegular
	}
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return File{}, cause(err)
	}
	file := File{Size: max(info.Size(), int64(len(raw))), Modified: info.ModTime()}
	if int64(len(raw)) > most {
		raw, file.Cut = wholeRunes(raw[:most]), true
	}
	if bytes.IndexByte(raw, 0) >= 0 {
		return File{}, ErrNotText
	}
	raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
	file.Mended = !utf8.Valid(raw)
	file.Text = strings.ReplaceAll(strings.ToValidUTF8(string(raw), "\ufffd"), "\r\n", "\n")
	return file, nil
}

// nonblock keeps a pipe in a file's place from holding us.
const nonblock = os.O_RDONLY | syscall.O_NONBLOCK

func (s *Shelf) open(name string) (*os.File, error) {
	if s.root != nil {
		return s.root.OpenFile(filepath.FromSlash(name), nonblock, 0)
	}
	return os.OpenFile(s.Path(name), nonblock, 0)
}

// Walk returns the names of the files below a folder, sorted, and whether these
// are all. A folder that is not there is empty. Links are followed as far as the
// shelf lets them lead, and never in a circle.
func (s *Shelf) Walk(dir string, b Bounds) (names []string, complete bool) {
	w := walk{shelf: s, left: b.Entries}
	w.folder(dir, b.Depth, nil)
	slices.Sort(w.names)
	return w.names, !w.cut
}

// Folders returns the names of the folders in a folder, sorted, and whether these
// are all among as many entries as may be looked at.
func (s *Shelf) Folders(dir string, most int) (names []string, complete bool) {
	f, err := s.open(dir)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	entries, err := f.ReadDir(most + 1)
	for _, e := range entries[:min(len(entries), most)] {
		name := path.Join(dir, e.Name())
		if s.isFolder(name, e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, len(entries) <= most && (err == nil || err == io.EOF)
}

// isFolder looks behind an entry only if it may be a link.
func (s *Shelf) isFolder(name string, e fs.DirEntry) bool {
	if e.Type()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return e.IsDir()
	}
	info, err := s.stat(name)
	return err == nil && info.IsDir()
}

// Has reports whether something has the name.
func (s *Shelf) Has(name string) bool {
	_, err := s.stat(name)
	return err == nil
}

func (s *Shelf) stat(name string) (fs.FileInfo, error) {
	if s.root != nil {
		return s.root.Stat(filepath.FromSlash(name))
	}
	return os.Stat(s.Path(name))
}

// Sum returns the hash of a file's bytes, and how many were read. A file of more
// than that many is not read, and has its size and time for a hash.
func (s *Shelf) Sum(name string, most int64) (sum string, size int64, err error) {
	f, err := s.open(name)
	if err != nil {
		return "", 0, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", 0, cause(err)
	}
	if !info.Mode().IsRegular() {
		return "", 0, ErrNotRegular
	}
	if info.Size() > most {
		return fmt.Sprintf("too large: %d bytes of %s", info.Size(), info.ModTime().UTC()), 0, nil
	}
	h := sha256.New()
	if size, err = io.Copy(h, io.LimitReader(f, most)); err != nil {
		return "", size, cause(err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// wholeRunes takes the beginning of a letter off the end.
func wholeRunes(b []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut < len(b); cut++ {
		if c := b[len(b)-cut]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-cut:]) {
				return b[:len(b)-cut]
			}
			break
		}
	}
	return b
}

// cause is an error without the path, which whoever reports it names already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		if errors.Is(pe.Err, syscall.ENOTDIR) {
			return fs.ErrNotExist
		}
		return pe.Err
	}
	return err
}
