package trust

import (
	"fmt"
	"os"
	"path/filepath"
)

// A Root is the folder that trust belongs to. Another folder that comes to have
// its path is another root.
type Root struct {
	Path   string `json:"path"` // without links
	Device uint64 `json:"dev"`
	Inode  uint64 `json:"inode"`
}

// FindRoot returns the root of the repository that dir is in: the nearest folder
// with a .git, which a worktree and a submodule have too, so that neither takes
// its trust from another folder. A dir in no repository is its own root.
func FindRoot(dir string) (Root, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return Root{}, fmt.Errorf("could not find the root of %s: %w", dir, err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return Root{}, fmt.Errorf("could not find the root of %s: %w", dir, err)
	}
	root := path
	for up := path; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			root = up
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	info, err := os.Stat(root)
	if err != nil {
		return Root{}, fmt.Errorf("could not find the root of %s: %w", dir, err)
	}
	dev, inode := identity(info)
	return Root{root, dev, inode}, nil
}
