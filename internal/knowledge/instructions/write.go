package instructions

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
)

// A Target is a file that the user can keep notes in.
type Target struct {
	// Source is project (for all who work on it), local (for this user, in this project) or
	// user (for this user, everywhere).
	Source settings.Source
	Path   string
	Exists bool

	root, name string // the folder that no link may leave, and the file's name in it
}

// Targets are the files to keep notes in: of each source the first that exists, or the one
// that would be made. Without a home folder there is none of the user.
func Targets(root, home string) []Target {
	find := func(source settings.Source, dir string, candidates []string, usual string) Target {
		t := Target{Source: source, root: dir, name: filepath.FromSlash(usual)}
		for _, c := range candidates {
			if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(c))); err == nil {
				t.name, t.Exists = filepath.FromSlash(c), true
				break
			}
		}
		t.Path = filepath.Join(dir, t.name)
		return t
	}
	of := func(source settings.Source) (list []string) {
		for _, n := range names {
			if n.source == source {
				list = append(list, n.path)
			}
		}
		return list
	}
	targets := []Target{find(settings.Project, root, of(settings.Project), "AGENTS.md"), find(settings.Local, root, of(settings.Local), "HAFT.local.md")}
	if home != "" {
		targets = append(targets, find(settings.User, home, userNames, userNames[0]))
	}
	return targets
}

// Append adds a note to the file as an item of a list, and makes the file if there is none.
// A file of a project that is a link out of it is refused.
func (t Target) Append(note string) error {
	note = strings.Join(strings.Fields(note), " ")
	if note == "" {
		return errors.New("the note is empty")
	}
	if err := t.append("- " + note + "\n"); err != nil {
		return fmt.Errorf("could not add the note to %s: %w", t.Path, err)
	}
	return nil
}

func (t Target) append(line string) (err error) {
	root, err := os.OpenRoot(t.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if dir := filepath.Dir(t.name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if info, err := root.Stat(t.name); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	mode := os.FileMode(0o644)
	if t.Source != settings.Project {
		mode = 0o600
	}
	file, err := root.OpenFile(t.name, os.O_RDWR|os.O_APPEND|os.O_CREATE, mode)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !endsLine(file) {
		line = "\n" + line
	}
	_, err = io.WriteString(file, line)
	return err
}

// endsLine reports whether a file is empty or ends with a line break.
func endsLine(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return true
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err != nil || last[0] == '\n'
}
