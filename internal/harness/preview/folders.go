package preview

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/sys/regular"
)

// Folders returns what a command in a folder works on: the work tree of the git
// repository that the folder lies in, or else the folder, and the folders outside of
// it where git keeps its data. All are free of links.
func Folders(dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	for top := dir; ; top = filepath.Dir(top) {
		info, err := os.Lstat(filepath.Join(top, ".git"))
		switch {
		case err == nil && info.IsDir():
			return []string{top}, nil
		case err == nil && info.Mode().IsRegular():
			return append([]string{top}, commonDir(top)...), nil
		case top == filepath.Dir(top):
			return []string{dir}, nil
		}
	}
}

// commonDir returns the repository of a linked work tree or a submodule, if its
// files lead to a folder.
func commonDir(top string) []string {
	const most = 4096 // bytes of a path
	raw, err := regular.Read(filepath.Join(top, ".git"), most)
	if err != nil {
		return nil
	}
	dir := strings.TrimSpace(strings.TrimPrefix(string(raw), "gitdir: "))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	if raw, err := regular.Read(filepath.Join(dir, "commondir"), most); err == nil {
		common := strings.TrimSpace(string(raw))
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
		dir = common
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	// A file in the project must not let a command write anywhere.
	if info, err := os.Lstat(filepath.Join(dir, "objects")); err != nil || !info.IsDir() {
		return nil
	}
	return []string{dir}
}
