package shell

import (
	"io/fs"
	"os"
	"os/exec"

	"github.com/haftdev/haft/internal/shell/realpath"
	"github.com/haftdev/haft/internal/sys/regular"
)

// FS is the view of the file system that an analysis may use. Paths are
// absolute.
type FS interface {
	Stat(path string) (fs.FileInfo, error)
	EvalSymlinks(path string) (string, error) // the path without symbolic links
	LookPath(name string) (string, error)     // the program that a bare name starts
	SearchPath() string                       // where programs are looked for, as PATH has it
	ReadDir(path string) ([]fs.DirEntry, error)
	ReadFile(path string) ([]byte, error) // git's configuration
}

// OS is the FS of this machine.
type OS struct{}

func (OS) Stat(path string) (fs.FileInfo, error)      { return os.Stat(path) }
func (OS) EvalSymlinks(path string) (string, error)   { return realpath.Eval(path) }
func (OS) LookPath(name string) (string, error)       { return exec.LookPath(name) }
func (OS) SearchPath() string                         { return os.Getenv("PATH") }
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (OS) ReadFile(path string) ([]byte, error)       { return regular.Read(path, maxFile) }

// maxFile is the longest file that is read to judge a command: configurations of
// git, which a repository brings along.
const maxFile = 4 << 20

// Snapshot returns a view that asks another one each question once, for a single decision: its
// parts look at the same paths. It is not safe for concurrent use.
func Snapshot(of FS) FS {
	if s, ok := of.(*askedOnce); ok {
		return s
	}
	return &askedOnce{FS: of, stats: map[string]answer[fs.FileInfo]{}, reals: map[string]answer[string]{}, programs: map[string]answer[string]{}}
}

type askedOnce struct {
	FS
	stats    map[string]answer[fs.FileInfo]
	reals    map[string]answer[string]
	programs map[string]answer[string]
}

type answer[T any] struct {
	value T
	err   error
}

func (s *askedOnce) Stat(path string) (fs.FileInfo, error) { return once(s.stats, path, s.FS.Stat) }
func (s *askedOnce) EvalSymlinks(path string) (string, error) {
	return once(s.reals, path, s.FS.EvalSymlinks)
}
func (s *askedOnce) LookPath(name string) (string, error) {
	return once(s.programs, name, s.FS.LookPath)
}

func once[T any](known map[string]answer[T], key string, ask func(string) (T, error)) (T, error) {
	a, ok := known[key]
	if !ok {
		a.value, a.err = ask(key)
		known[key] = a
	}
	return a.value, a.err
}
