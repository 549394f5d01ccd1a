package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/sys/pathin"
)

// TmpDirs are the temporary directories of the machine.
func TmpDirs() []string { return []string{"/tmp", "/var/tmp"} }

// A Tmp is what was in the temporary directories of the machine when a session began. What
// has appeared since is the session's scratch, as far as anyone can tell: commands may change
// it, and what was there before only be read. A nil Tmp knows nothing of them. It is safe for
// concurrent use.
type Tmp struct{ before map[string]bool }

// LookAtTmp looks what is there now.
func LookAtTmp() *Tmp {
	t := &Tmp{before: map[string]bool{}}
	for _, dir := range TmpDirs() {
		entries, _ := os.ReadDir(dir) // what cannot be listed cannot be told apart
		for _, e := range entries {
			t.before[filepath.Join(dir, e.Name())] = true
		}
	}
	return t
}

// Entry returns the name directly below a temporary directory that a physical path lies in; ""
// if it lies in none.
func (t *Tmp) Entry(path string) string {
	if t == nil {
		return ""
	}
	for _, dir := range TmpDirs() {
		if rest, ok := pathin.Below(dir, path); ok && rest != "" && rest != "." {
			name, _, _ := strings.Cut(rest, string(filepath.Separator))
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// Own reports whether a physical path lies below a temporary directory, where nothing was when
// the session began.
func (t *Tmp) Own(path string) bool {
	entry := t.Entry(path)
	return entry != "" && !t.before[entry]
}

// Share adds to a Spec that commands use the temporary directories of the machine: they read
// what others have there and change only what the session made. Sockets of other programs, and
// the folders that hold them, are closed.
func (t *Tmp) Share(s *Spec) {
	needed := slices.Concat(s.Write, s.Read, s.Scratch)
	for _, l := range s.Layers {
		needed = append(needed, l.Dir)
	}
	for _, dir := range TmpDirs() {
		if !isRealFolder(dir) || slices.Contains(s.Write, dir) {
			continue
		}
		s.Write = append(slices.Clip(s.Write), dir)
	}
	for entry := range t.before {
		holds := slices.ContainsFunc(needed, func(path string) bool { return pathin.Contains(entry, path) })
		switch {
		case !slices.Contains(s.Write, filepath.Dir(entry)) || slices.Contains(s.Write, entry) || slices.ContainsFunc(s.Layers, func(l Layer) bool { return l.Dir == entry }):
		case !holds && hasSocket(entry, 0):
			s.Deny = append(slices.Clip(s.Deny), entry)
			s.Foreign = append(slices.Clip(s.Foreign), entry)
		default:
			s.Foreign = append(slices.Clip(s.Foreign), entry)
		}
	}
	slices.Sort(s.Foreign) // rooms are told apart by what they hold
	slices.Sort(s.Deny)
}

// hasSocket reports whether a path is a socket, or a folder with one not far below. A folder
// that cannot be looked into cannot be used by commands either.
func hasSocket(path string, depth int) bool {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case info.Mode()&os.ModeSocket != 0:
		return true
	case !info.IsDir() || depth == maxSocketDepth:
		return false
	}
	entries, _ := os.ReadDir(path)
	return slices.ContainsFunc(entries[:min(len(entries), 256)], func(e os.DirEntry) bool {
		return e.Type()&os.ModeSocket != 0 || e.IsDir() && hasSocket(filepath.Join(path, e.Name()), depth+1)
	})
}

// maxSocketDepth is how deep programs put their sockets.
const maxSocketDepth = 2

func isRealFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
