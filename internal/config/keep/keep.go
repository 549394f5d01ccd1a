// Package keep says where haft keeps what it writes for a user: in the folders that the
// environment names, else in the home folder, else, if that is missing or cannot be
// written, in a folder of the user's under the temporary one. It makes only that, if
// another is in its place, and is safe for concurrent use.
package keep

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// State is the folder for what haft needs and can lose: $HAFT_HOME/state, or haft in
// the cache folder.
func State() string {
	if home := os.Getenv("HAFT_HOME"); home != "" {
		return filepath.Join(home, "state")
	}
	if cache, err := os.UserCacheDir(); err == nil && writable(cache) {
		return filepath.Join(cache, "haft")
	}
	return filepath.Join(temporary(), "haft")
}

// Sessions is the folder that sessions are in: $CLAUDE_CONFIG_DIR, which the official
// tools use too, $HAFT_HOME, or .claude in the home folder.
func Sessions() string {
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "HAFT_HOME"} {
		if dir := os.Getenv(name); dir != "" {
			return dir
		}
	}
	if home, err := os.UserHomeDir(); err == nil && writable(filepath.Join(home, ".claude")) {
		return filepath.Join(home, ".claude")
	}
	return filepath.Join(temporary(), ".claude")
}

// Log is the folder of the audit log: $HAFT_HOME, or .haft in the home folder.
func Log() string {
	if home := os.Getenv("HAFT_HOME"); home != "" {
		return home
	}
	if home, err := os.UserHomeDir(); err == nil && writable(filepath.Join(home, ".haft")) {
		return filepath.Join(home, ".haft")
	}
	return filepath.Join(temporary(), ".haft")
}

// temporary is the user's folder where there is no other. Of one that others made, or may write to, nothing
// is read: the process has a folder of its own then.
func temporary() string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("haft-%d", os.Getuid()))
	if info, err := os.Lstat(dir); err == nil && !private(info) {
		return ofProcess()
	}
	return dir
}

var ofProcess = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", fmt.Sprintf("haft-%d-", os.Getuid()))
	if err != nil {
		return filepath.Join(os.DevNull, "haft") // where nothing can be written, which is an error then
	}
	return dir
})

// writable reports whether a folder can be written, or made: by the nearest folder
// above it that exists.
func writable(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil {
			return info.IsDir() && mayWrite(dir)
		}
		if !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			return false
		}
	}
}
