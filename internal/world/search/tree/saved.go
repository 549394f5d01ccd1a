package tree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"
	"unsafe"

	"github.com/haftdev/haft/internal/world/search/ignore"
	"github.com/haftdev/haft/internal/world/search/index"
	"github.com/haftdev/haft/internal/world/search/rawfs"
)

// A Saved is the list of a tree as another process left it: names, and how every file
// and directory was. A walk that is given one asks the disk how things are, and takes
// from it what that proves to be the same: the names in a directory whose times are
// those of then, and the place of a file's signature if the file's are.
//
// It is read where it lies: fixed-size records, and names that end with a NUL as the
// kernel wants them. It is safe for concurrent use.
type Saved struct {
	dirs, files, order, names []byte
	rules                     [sha256.Size]byte // of what decided above the root
	signed, pending           int
}

// Sizes of the records. A directory's: its state (6 words), the sum of its exclude file,
// then the first and the number of its files and of its directories, what was passed
// over (4), where its name is, how long that is, marks and flags. A file's: its state (4
// words), where its name is, the place of its signature, how long the name is, flags.
const (
	dirSize    = 7*8 + 4*4 + 4*4 + 4 + 4
	fileSize   = 4*8 + 4 + 4 + 4
	headerSize = sha256.Size + 5*4

	flagTrusted = 1 << 0
	flagIgnored = 1 << 1
)

var errList = errors.New("not a list of files")

// encoder collects records.
type encoder struct {
	at                 time.Time
	dev                uint64       // what is mounted below the root is not vouched for
	index              *index.Index // nil: no signatures
	snap               index.Snapshot
	dirs, files, names []byte
	number             map[*File]uint32
	places             []uint32
	signed, pending    int
}

// all encodes directories level by level, so that those of one are neighbours.
func (e *encoder) all(root *Dir) {
	queue := []*Dir{root}
	for i := 0; i < len(queue); i++ {
		d := queue[i]
		subs := slices.SortedFunc(slices.Values(d.subs), func(a, b *Dir) int { return strings.Compare(a.Path, b.Path) })
		e.dir(d, len(queue), len(subs))
		queue = append(queue, subs...)
	}
}

func (e *encoder) dir(d *Dir, firstSub, subs int) {
	files := slices.SortedFunc(slices.Values(d.files), func(a, b *File) int { return strings.Compare(a.Name(), b.Name()) })
	flags := byte(flagTrusted)
	if d.unreadable || d.replaced || d.linkedRules || d.stat.Dev != e.dev || recent(d.stat, e.at) {
		flags = 0
	}
	b := e.dirs
	for _, w := range []uint64{uint64(d.stat.Mtime), uint64(d.stat.Ctime), uint64(d.stat.Size), d.stat.Ino, d.stat.Dev, d.stat.Links, excludeSum(d)} {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	name := d.name()
	for _, n := range []int{
		len(e.files) / fileSize, len(files), firstSub, subs,
		d.skipped.IgnoredDirs, d.skipped.Links, d.skipped.Special, 0, len(e.names),
	} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(name)))
	e.dirs = append(b, byte(d.marks), flags)
	e.names = append(append(e.names, name...), 0)
	for _, f := range files {
		e.file(f)
	}
}

// excludeSum is a sum of the exclude file of the repository at d, 0 if it is none.
func excludeSum(d *Dir) uint64 {
	if d.marks&ignore.HasGit == 0 {
		return 0
	}
	s := newSource(ignore.ExcludeFile(trimSlash(d.Path)))
	sum := sha256.Sum256(s.sum())
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

func (e *encoder) file(f *File) {
	flags, place := byte(flagTrusted), index.NoPlace
	if f.Unsteady || f.Dir.stat.Dev != e.dev || recent(rawfs.Stat{Mtime: f.Mtime, Ctime: f.Ctime}, e.at) {
		flags = 0
	} else if e.index != nil {
		if place = e.index.Place(&f.Slot); place != index.NoPlace && e.snap.Holds(place) {
			e.places = append(e.places, place)
			e.signed++
		} else {
			place = index.NoPlace
		}
	}
	if f.Ignored {
		flags |= flagIgnored
	} else if flags != 0 && place == index.NoPlace {
		e.pending++
	}
	e.number[f] = uint32(len(e.files) / fileSize)
	b := e.files
	for _, w := range []uint64{uint64(f.Mtime), uint64(f.Ctime), uint64(f.Size), f.ino} {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.names)))
	b = binary.LittleEndian.AppendUint32(b, place)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(f.Name())))
	e.files = append(b, flags, 0)
	e.names = append(append(e.names, f.Name()...), 0)
}

// ReadSaved reads a list that [Tree.Save] made, which it then shares. Whatever the bytes
// are, reading the result is safe.
func ReadSaved(raw []byte) (*Saved, error) {
	if len(raw) < headerSize {
		return nil, errList
	}
	s := &Saved{rules: [sha256.Size]byte(raw)}
	number := func(i int) int { return int(binary.LittleEndian.Uint32(raw[sha256.Size+4*i:])) }
	dirs, files, names := number(0), number(1), number(2)
	s.signed, s.pending = number(3), number(4)
	if dirs == 0 || int64(len(raw)) != headerSize+int64(dirs)*dirSize+int64(files)*(fileSize+4)+int64(names) {
		return nil, errList
	}
	rest := raw[headerSize:]
	s.dirs, rest = rest[:dirs*dirSize], rest[dirs*dirSize:]
	s.files, rest = rest[:files*fileSize], rest[files*fileSize:]
	if s.order, s.names = rest[:4*files], rest[4*files:]; bytes.IndexByte(s.names, '/') >= 0 {
		return nil, errList
	}
	for i := range dirs {
		d := s.dir(i)
		if d.firstFile()+d.fileCount() > files || d.firstSub()+d.subCount() > dirs || d.subCount() > 0 && d.firstSub() <= i || !s.named(d.nameAt(), d.nameLen()) {
			return nil, errList
		}
	}
	for i := range files {
		if f := s.file(i); !s.named(f.nameAt(), f.nameLen()) || f.nameLen() == 0 || int(binary.LittleEndian.Uint32(s.order[4*i:])) >= files {
			return nil, errList
		}
	}
	return s, nil
}

// named reports whether a name lies within the names and ends there.
func (s *Saved) named(at, n int) bool { return at+n < len(s.names) && s.names[at+n] == 0 }

// Signed is how many of the files have a signature, Pending how many could have one and do not.
func (s *Saved) Signed() int  { return s.signed }
func (s *Saved) Pending() int { return s.pending }

// name gives a name without copying it: nothing ever writes to the names.
func (s *Saved) name(at, n int) string {
	if n == 0 {
		return ""
	}
	return unsafe.String(&s.names[at], n)
}

// savedDir and savedFile are records.
type (
	savedDir  []byte
	savedFile []byte
)

func (s *Saved) dir(i int) savedDir   { return s.dirs[i*dirSize : (i+1)*dirSize] }
func (s *Saved) file(i int) savedFile { return s.files[i*fileSize : (i+1)*fileSize] }

func (d savedDir) number(i int) int    { return int(binary.LittleEndian.Uint32(d[8*7+4*i:])) }
func (d savedDir) firstFile() int      { return d.number(0) }
func (d savedDir) fileCount() int      { return d.number(1) }
func (d savedDir) firstSub() int       { return d.number(2) }
func (d savedDir) subCount() int       { return d.number(3) }
func (d savedDir) nameAt() int         { return d.number(8) }
func (d savedDir) nameLen() int        { return int(binary.LittleEndian.Uint16(d[8*7+4*9:])) }
func (d savedDir) marks() ignore.Marks { return ignore.Marks(d[dirSize-2]) }
func (d savedDir) trusted() bool       { return d[dirSize-1]&flagTrusted != 0 }

func (d savedDir) exclude() uint64 { return binary.LittleEndian.Uint64(d[8*6:]) }

func (d savedDir) stat() rawfs.Stat {
	w := func(i int) uint64 { return binary.LittleEndian.Uint64(d[8*i:]) }
	return rawfs.Stat{Mtime: int64(w(0)), Ctime: int64(w(1)), Size: int64(w(2)), Ino: w(3), Dev: w(4), Links: w(5), Kind: rawfs.Directory}
}

func (d savedDir) skipped() Skipped {
	return Skipped{IgnoredDirs: d.number(4), Links: d.number(5), Special: d.number(6)}
}

func (f savedFile) nameAt() int   { return int(binary.LittleEndian.Uint32(f[32:])) }
func (f savedFile) place() uint32 { return binary.LittleEndian.Uint32(f[36:]) }
func (f savedFile) nameLen() int  { return int(binary.LittleEndian.Uint16(f[40:])) }
func (f savedFile) trusted() bool { return f[42]&flagTrusted != 0 }

// same reports whether a file is as it was.
func (f savedFile) same(st *rawfs.Stat) bool {
	w := func(i int) uint64 { return binary.LittleEndian.Uint64(f[8*i:]) }
	return f.trusted() && int64(w(0)) == st.Mtime && int64(w(1)) == st.Ctime && int64(w(2)) == st.Size && w(3) == st.Ino
}

func (f savedFile) ignored() bool { return f[42]&flagIgnored != 0 }

// findFile looks for a name among the files of a directory, -1 if it is not there. Entries are
// sorted by name.
func (s *Saved) findFile(d savedDir, name string) int {
	return find(d.firstFile(), d.fileCount(), name, func(i int) string { r := s.file(i); return s.name(r.nameAt(), r.nameLen()) })
}

// findSub looks for a name among the saved directories of one, -1 if it is not there.
func (s *Saved) findSub(d savedDir, name string) int {
	return find(d.firstSub(), d.subCount(), name, func(i int) string { r := s.dir(i); return s.name(r.nameAt(), r.nameLen()) })
}

func find(first, count int, name string, nameOf func(int) string) int {
	i := first + sort.Search(count, func(i int) bool { return nameOf(first+i) >= name })
	if i < first+count && nameOf(i) == name {
		return i
	}
	return -1
}
