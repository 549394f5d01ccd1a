package workspace

import (
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Encoding returns the encoding of the file at a physical path: the one that the agent chose
// earlier, otherwise one derived from the bytes, from declarations and, if in doubt, from the
// project's other files. raw may be just a sufficiently long beginning of the file.
func (w *Workspace) Encoding(agent, path string, raw []byte) (textfile.Encoding, error) {
	if seen, ok := w.Seen(agent).Get(path); ok && seen.Given {
		if enc, err := textfile.Lookup(seen.Encoding); err == nil && enc.Reads(raw) {
			return enc.For(raw), nil
		}
	}
	if isASCII(raw) { // no hint can make it anything else
		return textfile.DetectWith(raw, textfile.Hints{})
	}
	return textfile.DetectWith(raw, w.hints(path))
}

func isASCII(raw []byte) bool {
	for _, c := range raw {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// SearchText returns the text of a file that is not UTF-8, for a search; ok is false for a
// file that is not text, or that is UTF-8 except for a few bytes. It does not consult other
// files, because a search may ask for thousands.
func (w *Workspace) SearchText(path string, raw []byte) (d search.Decoded, ok bool) {
	hints := w.hints(path)
	hints.Others = nil
	enc, err := textfile.DetectWith(raw, hints)
	if err != nil || enc.UTF8() {
		return d, false
	}
	return search.Decoded{Text: textfile.Decode(raw, enc).Bytes(), Doubtful: enc.Unsure(), Volatile: hints.Charset != nil}, true
}

// hints are what the project says of the encoding of a file.
func (w *Workspace) hints(path string) textfile.Hints {
	h := textfile.Hints{Others: func() []string { return w.encodingsBeside(path) }}
	if label := w.editorConfig(path, "charset"); label != "" {
		if enc, err := textfile.Lookup(label); err == nil {
			h.Charset = new(enc.From(".editorconfig"))
		}
	}
	return h
}

// What is looked at to tell which encoding a project uses: enough for a majority, little enough to be unnoticed.
const (
	besideFiles = 200
	besideDirs  = 50
	besideBytes = 32 << 10 // of each file
)

// encodingsBeside returns the legacy encodings of files with the same extension in the folder, in those below it and then in those
// above it up to the project's root, the most frequent first. Only encodings that are certain count.
func (w *Workspace) encodingsBeside(path string) []string {
	root := w.rootOf(path)
	if root == "" {
		return nil
	}
	s := survey{fs: w.fs, ext: filepath.Ext(path), skip: path, found: map[string]int{}, done: map[string]bool{}}
	for dir := filepath.Dir(path); len(dir) >= len(root); dir = filepath.Dir(dir) {
		s.below(dir)
		if len(s.found) > 0 || dir == root {
			break
		}
	}
	return slices.SortedFunc(maps.Keys(s.found), func(a, b string) int {
		return cmp.Or(s.found[b]-s.found[a], strings.Compare(a, b))
	})
}

// rootOf returns the directory of the workspace that holds a physical path, or "".
func (w *Workspace) rootOf(path string) string {
	for _, root := range w.guard.Roots() {
		if strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
			return root
		}
	}
	return ""
}

// survey counts the encodings of files.
type survey struct {
	fs          disk.FS
	ext, skip   string
	files, dirs int
	found       map[string]int
	done        map[string]bool // directories
}

// below looks at a directory and those in it, breadth first.
func (s *survey) below(dir string) {
	for queue := []string{dir}; len(queue) > 0 && s.dirs < besideDirs; queue = queue[1:] {
		if s.done[queue[0]] {
			continue
		}
		s.done[queue[0]] = true
		s.dirs++
		entries, err := s.fs.ReadDir(queue[0])
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(queue[0], e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."), e.Name() == "node_modules", path == s.skip:
			case e.IsDir():
				queue = append(queue, path)
			case e.Type().IsRegular() && filepath.Ext(path) == s.ext && s.files < besideFiles:
				s.files++
				s.count(path)
			}
		}
	}
}

func (s *survey) count(path string) {
	raw, err := readHead(s.fs, path, besideBytes)
	if err != nil {
		return
	}
	if i := strings.LastIndexByte(string(raw), '\n'); i >= 0 { // whole characters
		raw = raw[:i+1]
	}
	if enc, err := textfile.Detect(raw); err == nil && !enc.UTF8() && !enc.Wide() && !enc.Unsure() {
		s.found[enc.String()]++
	}
}

// readHead reads the beginning of a regular file without following a link.
func readHead(files disk.FS, path string, most int) ([]byte, error) {
	if info, err := files.Lstat(path); err != nil || !info.Mode.IsRegular() {
		return nil, cmp.Or(err, fs.ErrInvalid)
	}
	dir, err := files.OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := dir.Open(filepath.Base(path), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, most)
	n, err := f.ReadAt(buf, 0)
	if n == 0 && err != nil {
		return nil, err
	}
	return buf[:n], nil
}
