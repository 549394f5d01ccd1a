package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// Code says why something was refused.
type Code int

// The numbers are part of the wire format: tools report them with their problems.
const (
	Malformed    Code = 1
	Relative     Code = 2
	Missing      Code = 3
	IsDirectory  Code = 4
	NotAFile     Code = 5 // device, FIFO, socket
	NoPermission Code = 6
	TooLarge     Code = 7
	Binary       Code = 8
	Unread       Code = 9
	Stale        Code = 10
	Conflict     Code = 11
	Swapped      Code = 12 // replaced while it was being opened
	Empty        Code = 13
	Exists       Code = 14
	Busy         Code = 15 // another process is changing it
)

// Refusal says why nothing was done, and what to do next. Its text is written for the model.
type Refusal struct {
	Code Code
	text string
}

func (r *Refusal) Error() string { return r.text }

func refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{code, fmt.Sprintf(format, args...)}
}

// CheckPath refuses a path that is not absolute and suggests the one that was probably meant.
// param is the name of the input field.
func (w *Workspace) CheckPath(f guard.Facts, param string) error {
	switch {
	case f.Malformed != "":
		return refuse(Malformed, "%s is not a usable path: %s.", param, f.Malformed)
	case f.Relative:
		return refuse(Relative, "%s must be absolute. Use %s instead of %s.", param, f.Path, f.Given)
	}
	return nil
}

// readable refuses what cannot be opened as a file.
func (w *Workspace) readable(f guard.Facts) error {
	switch kind := f.Kind(); {
	case f.Malformed != "":
		return refuse(Malformed, "This is not a usable path: %s.", f.Malformed)
	case errors.Is(f.Err, guard.ErrTooManyLinks):
		return refuse(NotAFile, "%s has too many symbolic links in its path.", f.Path)
	case errors.Is(f.Err, guard.ErrLost):
		return refuse(Malformed, "%s is not a usable path: it has a .. after something that is not a directory. If you mean %s, use that path.", f.Given, f.Real)
	case errors.Is(f.Err, fs.ErrPermission):
		return refuse(NoPermission, "Permission denied: %s cannot be reached by this user.", f.Path)
	case errors.Is(f.Err, syscall.ENOTDIR):
		return refuse(Missing, "File does not exist: %s. Part of its path is a file, not a directory.", f.Path)
	case kind == "missing":
		return w.missing(f)
	case kind == "directory":
		return refuse(IsDirectory, "%s is a directory, not a file. Use Glob with the pattern %s to list its files.", f.Path, filepath.Join(f.Path, "*"))
	case kind != "file":
		return refuse(NotAFile, "%s is a %s, not a file. Opening it may block forever, so it was not opened. Use Bash with a timeout instead.", f.Path, kind)
	}
	return nil
}

// missing says that there is no file, where it was looked for, and what is there instead.
func (w *Workspace) missing(f guard.Facts) error {
	if n := len(f.Links); n > 0 {
		return refuse(Missing, "File does not exist: %s is a symbolic link to %s, which is missing.", f.Path, f.Real)
	}
	text := "File does not exist: " + f.Path + "."
	if near := w.similar(f); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	} else {
		text += " The working directory is " + w.guard.Cwd() + "."
	}
	return &Refusal{Missing, text}
}
