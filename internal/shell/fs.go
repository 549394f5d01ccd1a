package shell

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/haftdev/haft/internal/regular"
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
func (OS) EvalSymlinks(path string) (string, error)   { return filepath.EvalSymlinks(path) }
func (OS) LookPath(name string) (string, error)       { return exec.LookPath(name) }
func (OS) SearchPath() string                         { return os.Getenv("PATH") }
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (OS) ReadFile(path string) ([]byte, error)       { return regular.Read(path, maxFile) }

// maxFile is the longest file that is read to judge a command: configurations of
// git, which a repository brings along.
const maxFile = 4 << 20
