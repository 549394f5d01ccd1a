package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/haftdev/haft/internal/config/rewrite"
)

// Options say which files to read. Nil means all zero values.
type Options struct {
	// Home is the user's home folder; "" means that there are no user settings, unless User
	// names them.
	Home string
	// Shared is the user's folder that Claude Code reads too; "" means .claude in Home.
	Shared string
	// Project is the folder that the session works in; "" means none.
	Project string
	// Managed and User are the files of those sources, in order of precedence; nil means
	// the usual places, and an empty list none.
	Managed, User []string
	// Flag is the value of --settings: a JSON object, or the path of a file.
	Flag string
	// Sources are the sources to read among user, project and local; nil means all.
	// Managed and flag settings are always read.
	Sources []Source
	// Disk opens files; nil means the real one.
	Disk Disk
}

// A Disk opens files. They are closed after reading.
type Disk interface {
	// Open opens a file, which may be a link that its owner made.
	Open(path string) (fs.File, error)
	// OpenIn opens the file name below root. A link that leads out of root is an error.
	OpenIn(root, name string) (fs.File, error)
}

// Load reads the settings of a session. Only what a user named on the command line can make
// it fail.
func Load(opts *Options) (*Settings, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Disk == nil {
		o.Disk = disk{}
	}
	s := &Settings{}
	for _, path := range o.managed() {
		s.add(o.read(Managed, path))
	}
	if o.Flag != "" {
		f, err := o.flag()
		if err != nil {
			return nil, err
		}
		s.add(f)
	}
	users := o.user()
	for _, p := range projectFiles {
		if o.Project != "" && o.wants(p.source) && !slices.Contains(users, filepath.Join(o.Project, p.name)) {
			s.add(o.readIn(p))
		}
	}
	for _, path := range users {
		if o.wants(User) {
			s.add(o.read(User, path))
		}
	}
	return s, nil
}

// A projectFile is a file that a project may have.
type projectFile struct {
	source Source
	name   string
	known  func() map[string]shape
	closed bool // unknown keys are ignored
}

// projectFiles come by precedence.
var projectFiles = []projectFile{
	{Local, ".haft/settings.local.json", topLevel, false},
	{Local, ".claude/settings.local.json", topLevel, false},
	{Project, ".haft/settings.json", topLevel, false},
	{Project, ".claude/settings.json", topLevel, false},
	{Project, serversFile, mcpFile, true},
}

// serversFile has the MCP servers of a project.
const serversFile = ".mcp.json"

func (o *Options) wants(s Source) bool { return o.Sources == nil || slices.Contains(o.Sources, s) }

func (o *Options) managed() []string {
	if o.Managed != nil {
		return o.Managed
	}
	switch runtime.GOOS {
	case "darwin":
		return []string{"/Library/Application Support/haft/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"}
	case "windows":
		return []string{`C:\Program Files\haft\managed-settings.json`, `C:\Program Files\ClaudeCode\managed-settings.json`}
	}
	return []string{"/etc/haft/managed-settings.json", "/etc/claude-code/managed-settings.json"}
}

func (o *Options) user() []string {
	if o.User != nil || o.Home == "" {
		return o.User
	}
	return []string{filepath.Join(o.Home, ".haft", "settings.json"), filepath.Join(o.shared(), "settings.json")}
}

func (o *Options) shared() string {
	if o.Shared != "" {
		return o.Shared
	}
	return filepath.Join(o.Home, ".claude")
}

// flag parses what the command line gave. Its faults are errors, because the user asked for
// exactly this.
func (o *Options) flag() (*File, error) {
	text, path := []byte(o.Flag), ""
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		path = o.Flag
		file, err := o.Disk.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read --settings: %w", err)
		}
		defer file.Close()
		if text, err = rewrite.ReadAll(file); err != nil {
			return nil, fmt.Errorf("read --settings: %s: %w", path, err)
		}
	}
	f, err := Parse(Flag, path, text)
	if err != nil {
		return nil, fmt.Errorf("read --settings: %s: %w", path, err)
	}
	return f, nil
}

func (o *Options) read(source Source, path string) *File {
	file, err := o.Disk.Open(path)
	f := readFile(source, path, topLevel, file, err)
	if f != nil && source == User && o.Home != "" && filepath.Dir(path) == o.shared() {
		f.Shared = true // whatever the folder is called
	}
	return f
}

func (o *Options) readIn(p projectFile) *File {
	file, err := o.Disk.OpenIn(o.Project, p.name)
	f := readFile(p.source, filepath.Join(o.Project, filepath.FromSlash(p.name)), p.known, file, err)
	if f != nil && p.closed {
		f.root.members = slices.DeleteFunc(f.root.members, func(m member) bool {
			_, known := p.known()[m.name]
			return !known
		})
	}
	return f
}

// Target returns the file in which the rules of a source are stored: haft's own if the
// folder .haft exists, otherwise the one shared with Claude Code. It knows the local,
// project and user sources.
func (o *Options) Target(source Source) (Target, error) {
	base, root, name := o.Home, "", "settings.json"
	switch source {
	case Local:
		base, root, name = o.Project, o.Project, "settings.local.json"
	case Project:
		base, root = o.Project, o.Project
	case User:
		if len(o.User) > 0 {
			return Target{Path: o.User[0]}, nil
		}
	default:
		return Target{}, fmt.Errorf("rules cannot be saved in %s settings: use local, project or user", source)
	}
	if base == "" {
		return Target{}, fmt.Errorf("there is no folder for %s settings", source)
	}
	dir := filepath.Join(base, ".claude")
	if source == User {
		dir = o.shared()
	}
	if info, err := os.Stat(filepath.Join(base, ".haft")); err == nil && info.IsDir() {
		dir = filepath.Join(base, ".haft")
	}
	return Target{Path: filepath.Join(dir, name), Root: root}, nil
}

// readFile returns the content of a file; nil means that there is none.
func readFile(source Source, path string, known func() map[string]shape, file fs.File, err error) *File {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return skipped(source, path, 1, fmt.Sprintf("it could not be read: %s", cause(err)))
	}
	defer file.Close()
	text, err := rewrite.ReadAll(file)
	if err != nil {
		return skipped(source, path, 1, fmt.Sprintf("it could not be read: %s", cause(err)))
	}
	f, err := parseFile(source, path, known, text)
	if err != nil {
		return skipped(source, path, faultLine(err), fmt.Sprintf("it could not be understood: %s", err))
	}
	return f
}

// faultLine is the line that an error of the parser begins with.
func faultLine(err error) int {
	line := 1
	fmt.Sscanf(err.Error(), "line %d", &line) // an error without one is about the whole file
	return line
}

// cause is an error without the path, which the problem names already.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// disk is the real one.
type disk struct{}

// nonblock keeps a pipe in a settings file's place from holding us.
const nonblock = os.O_RDONLY | syscall.O_NONBLOCK

func (disk) Open(path string) (fs.File, error) { return os.OpenFile(path, nonblock, 0) }

func (disk) OpenIn(root, name string) (fs.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.OpenFile(name, nonblock, 0)
}
