package guard

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/workspace/disk"
)

// Facts are what is known about a path.
type Facts struct {
	Given    string // as the caller wrote it
	Path     string // absolute and clean, as spelled unless a .. after a link makes that another file; the form to suggest for a relative path
	Real     string // physical, every link followed; what is missing at the end is kept
	Relative bool
	Root     string // the physical root that holds Real, or ""
	Kept     bool   // the session has kept it for its model to read
	Plan     bool   // the model may write its plan in it
	Temp     bool   // below a temporary directory of the machine
	Scratch  bool   // and made by the session there, or not there yet
	Escapes  bool   // spelled inside a root, physically outside all of them
	Links    []Link // links passed on the way
	Exists   bool
	Info     disk.Info // of Real, when it exists

	Sensitive Sensitivity
	Malformed string // why this is no path at all, or ""
	Odd       string // why the path would mislead a reader, or ""
	Err       error  // what kept the look from being complete

	special special
}

// special is a kind of kernel interface.
type special string

const (
	processFile special = "a file of a running process"
	deviceFile  special = "a device"
	kernelFile  special = "a kernel interface"
)

// Kind says what is at the path in a word or two: "file", "directory", "missing", "named pipe", "socket", "device".
func (f Facts) Kind() string {
	switch t := f.Info.Mode.Type(); {
	case !f.Exists:
		return "missing"
	case t.IsRegular():
		return "file"
	case t.IsDir():
		return "directory"
	case t&fs.ModeNamedPipe != 0:
		return "named pipe"
	case t&fs.ModeSocket != 0:
		return "socket"
	case t&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		return "device"
	default:
		return "special file"
	}
}

// spellings are all names under which the path was or could be reached.
func (f Facts) spellings() []string {
	out := []string{f.Path}
	if f.Real != f.Path {
		out = append(out, f.Real)
	}
	for _, l := range f.Links {
		out = append(out, l.From, l.To)
	}
	return out
}

var (
	url      = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	drive    = lazyregexp.New(`^[A-Za-z]:[/\\]`)
	reserved = lazyregexp.New(`^(?i:con|prn|aux|nul|com[1-9]|lpt[1-9])$`)
)

// Limits of Linux; no system we run on allows more.
const (
	maxPath = 4096
	maxName = 255
)

// malformed says why a string is no path, or returns "".
func malformed(path string) string {
	switch {
	case path == "":
		return "the path is empty"
	case strings.ContainsRune(path, 0):
		return "the path contains a NUL byte"
	case strings.Contains(path, "://") && url.MatchString(path):
		return "this is a URL, not a path"
	case strings.HasPrefix(path, `\\`), strings.HasPrefix(path, `\??\`):
		return "this is a Windows network or device name"
	}
	return tooLong(path)
}

// Plain reports whether a path is absolute and clean and no name in it is malformed, which takes no look at the disk.
func Plain(path string) bool {
	return filepath.IsAbs(path) && filepath.Clean(path) == path && malformed(path) == ""
}

// Direct reports whether the path, as it was given, led to a file without passing a link.
func (f Facts) Direct() bool {
	return f.Given == f.Path && f.Path == f.Real && f.Malformed == "" && len(f.Links) == 0 && f.Err == nil && f.special == "" && f.Kind() == "file"
}

func tooLong(path string) string {
	if len(path) > maxPath {
		return fmt.Sprintf("the path is longer than %d bytes", maxPath)
	}
	for c := range strings.SplitSeq(path, string(filepath.Separator)) {
		if len(c) > maxName {
			return fmt.Sprintf("a name in the path is longer than %d bytes", maxName)
		}
	}
	return ""
}

// odd says why a path would look like another one to a reader, or returns "".
func odd(path string) string {
	if drive.MatchString(path) {
		return "the path begins with a drive letter, as on Windows"
	}
	for _, r := range path {
		switch {
		case unicode.IsControl(r):
			return "the path contains control characters"
		case unicode.Is(unicode.Cf, r):
			return "the path contains invisible characters"
		case r == '\\':
			return "the path contains backslashes, which separate names on Windows"
		}
	}
	return ""
}
