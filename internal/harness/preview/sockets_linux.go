package preview

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// privately are where a box has folders of its own, and so no socket of the machine.
var privately = []string{"/run", "/var/run", "/dev"}

// maxSockets bounds those that are covered: each takes a mount.
const maxSockets = 500

// foreignSockets returns the sockets of other programs that a previewed command could connect to, and
// have them act for it: a database, or what runs containers. Those in some folders are behind a
// layer, which hides them.
func foreignSockets(layered []string) []string {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	var found []string
	for line := range strings.Lines(string(table)) {
		_, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " /")
		if path = "/" + path; !ok || filepath.Clean(path) != path || len(found) == maxSockets || slices.Contains(found, path) {
			continue
		}
		if slices.ContainsFunc(slices.Concat(privately, layered), func(dir string) bool { return pathin.Contains(dir, path) }) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
			found = append(found, path)
		}
	}
	return found
}
