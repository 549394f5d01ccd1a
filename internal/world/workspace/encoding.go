package workspace

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/disk"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// What is looked at to tell which encoding a project uses: enough for a majority, little enough to be unnoticed.
const (
	besideFiles = 200
	besideDirs  = 50
	besideBytes = 32 << 10 // of each file
)

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
