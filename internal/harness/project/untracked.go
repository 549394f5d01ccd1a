package project

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/world/search/ignore"
)

// Untracked keeps a file that is one user's own out of the repository around it, by a line in
// the repository's info/exclude, which is shared with nobody. A folder without a repository,
// or one whose exclude file is not a file of its own, stays as it is: the settings count anyway.
func Untracked(path string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			return exclude(ignore.ExcludeFile(dir), "/"+filepath.ToSlash(rel))
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// exclude adds a line to an exclude file that does not have it.
func exclude(file, line string) error {
	git := filepath.Dir(filepath.Dir(file))
	if _, err := os.Stat(filepath.Join(git, "HEAD")); err != nil {
		return nil // not a repository
	}
	for _, name := range []string{filepath.Dir(file), file} {
		if info, err := os.Lstat(name); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return nil // it may lead anywhere
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	const most = 1 << 20
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err
	}
	for l := range strings.Lines(string(text)) {
		if strings.TrimSpace(l) == line {
			return nil
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		line = "\n" + line
	}
	_, err = f.WriteString(line + "\n")
	return err
}
