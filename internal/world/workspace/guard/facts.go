package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/workspace/disk"
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

// IsLink reports whether the path leads to another file, not only through a folder on the way.
func (f Facts) IsLink() bool {
	name := filepath.Base(f.Path)
	return f.Real != f.Path && slices.ContainsFunc(f.Links, func(l Link) bool { return filepath.Base(l.From) == name })
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

// Verdict gives the guard's view of one operation. It is what holds without any rules: a file inside the roots may be read
// and written, one outside needs asking, and some things are never done by a tool. The strictest reason wins.
func (f Facts) Verdict(op Op) Verdict {
	if f.Malformed != "" {
		return Verdict{Deny, f.Malformed}
	}
	for _, d := range [...]Decision{Deny, Ask} {
		for _, check := range [...]func(Facts, Op) Verdict{
			Facts.checkSpecial, Facts.checkKind, Facts.checkSensitive, Facts.checkPlace, Facts.checkName, Facts.checkShared,
		} {
			if v := check(f, op); v.Decision == d {
				return v
			}
		}
	}
	return Verdict{}
}

func (f Facts) checkSpecial(op Op) Verdict {
	switch {
	case errors.Is(f.Err, ErrTooManyLinks):
		return Verdict{Deny, f.Err.Error()}
	case f.special == deviceFile && op == Read:
		return Verdict{Deny, fmt.Sprintf("%s is %s, which may be endless: read part of it with Bash, such as head -c 100 %s", f.Path, f.special, f.Path)}
	case f.special == processFile || f.special == deviceFile:
		return Verdict{Deny, fmt.Sprintf("%s is %s", f.Path, f.special)}
	case f.special == kernelFile && op == Write:
		return Verdict{Deny, fmt.Sprintf("%s is %s", f.Path, f.special)}
	}
	return Verdict{}
}

func (f Facts) checkKind(op Op) Verdict {
	if !f.Exists {
		if op == Write && reserved.MatchString(filepath.Base(f.Real)) {
			return Verdict{Deny, fmt.Sprintf("%s is a reserved device name on Windows", filepath.Base(f.Real))}
		}
		return Verdict{}
	}
	switch t := f.Info.Mode.Type(); {
	case t.IsDir() && op == Write:
		return Verdict{Deny, f.Path + " is a directory"}
	case t.IsDir() || t.IsRegular():
		return Verdict{}
	}
	return Verdict{Deny, fmt.Sprintf("%s is a %s, not a file: opening it may block forever. Use Bash with a timeout instead", f.Path, f.Kind())}
}

func (f Facts) checkSensitive(op Op) Verdict {
	d, what := f.Sensitive.Read, f.Sensitive.What
	if op == Write {
		d, what = f.Sensitive.Write, f.Sensitive.Written()
	}
	if d == Allow || f.Plan {
		return Verdict{}
	}
	return Verdict{d, fmt.Sprintf("%s: %s", f.Path, what)}
}

func (f Facts) checkPlace(op Op) Verdict {
	switch {
	case f.Root != "", f.Kept && op == Read, f.Plan, f.Scratch, f.Temp && op == Read:
		return Verdict{}
	case f.Escapes && op == Write:
		return Verdict{Deny, fmt.Sprintf("a symbolic link in %s leads out of the project, to %s", f.Path, f.Real)}
	case f.Escapes:
		return Verdict{Ask, fmt.Sprintf("a symbolic link in %s leads out of the project, to %s", f.Path, f.Real)}
	}
	return Verdict{Ask, f.Real + " is outside the project"}
}

func (f Facts) checkName(Op) Verdict {
	if f.Odd != "" {
		return Verdict{Ask, fmt.Sprintf("%s: %q", f.Odd, f.Given)}
	}
	return Verdict{}
}

// checkShared finds files whose change reaches further than their name.
func (f Facts) checkShared(op Op) Verdict {
	switch {
	case op != Write || !f.Exists || !f.Info.Mode.IsRegular():
	case f.Info.Links > 1:
		return Verdict{Ask, fmt.Sprintf("%s has %d hard links; writing to it changes them all", f.Path, f.Info.Links)}
	case f.Info.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return Verdict{Ask, f.Path + " runs with the rights of its owner or group (setuid or setgid)"}
	}
	return Verdict{}
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
