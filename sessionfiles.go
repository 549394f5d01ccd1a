package haft

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
)

// files returns the files of sessions whose id matches.
func (o *SessionsOptions) files(id string) ([]string, error) {
	root := o.ConfigDir
	if root == "" {
		root = os.Getenv("CLAUDE_CONFIG_DIR")
	}
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find sessions: %w", err)
		}
		root = filepath.Join(home, ".claude")
	}
	projects := filepath.Join(root, "projects")
	folders, err := os.ReadDir(projects)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find sessions: %w", err)
	}
	var paths []string
	for _, folder := range folders {
		if o.Dir != "" && !mayHold(folder.Name(), o.Dir) {
			continue
		}
		found, err := fs.Glob(os.DirFS(filepath.Join(projects, folder.Name())), id+".jsonl")
		if err != nil {
			return nil, fmt.Errorf("find sessions: %w", err)
		}
		for _, name := range found {
			paths = append(paths, filepath.Join(projects, folder.Name(), name))
		}
	}
	return paths, nil
}

var notAlnum = lazyregexp.New(`[^a-zA-Z0-9]`)

// mayHold reports whether a folder can belong to a working directory. Its name is the path
// with everything but letters and digits replaced; a long name is cut, and a hash is added.
func mayHold(folder, dir string) bool {
	const most = 200
	for _, d := range spellings(dir) {
		name := notAlnum.ReplaceAllString(d, "-")
		if folder == name || len(name) > most && strings.HasPrefix(folder, name[:most]) {
			return true
		}
	}
	return false
}

// spellings returns a directory's absolute path, and that without links.
func spellings(dir string) []string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	paths := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		paths = append(paths, real)
	}
	return paths
}

// readLines calls f with each line, which is valid until f returns. The last one
// may be cut.
func readLines(path string, f func([]byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(make([]byte, 64<<10), math.MaxInt)
	for in.Scan() {
		f(in.Bytes())
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	return nil
}
