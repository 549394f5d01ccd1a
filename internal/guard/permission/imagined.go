package permission

import (
	"io/fs"

	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// Imagined returns a view of the file system in which the given folders exist even if they
// do not, so that a policy can be asked about a project on another machine. Everything else
// is unchanged; nothing can be opened through it.
func Imagined(dirs ...string) disk.FS { return imagined{disk.OS(), dirs} }

type imagined struct {
	disk.FS
	dirs []string
}

func (m imagined) Lstat(path string) (disk.Info, error) {
	info, err := m.FS.Lstat(path)
	if err == nil {
		return info, nil
	}
	for _, dir := range m.dirs {
		if pathin.Contains(path, dir) {
			return disk.Info{Mode: fs.ModeDir | 0o755, Links: 1}, nil
		}
	}
	return info, err
}
