package haft

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/wire"
)

// SessionsOptions select sessions. The zero value and nil mean all sessions of this user.
type SessionsOptions struct {
	// Dir is the directory that the sessions worked in; "" means any.
	Dir string
	// ConfigDir is where sessions are stored; "" means the folder in the environment
	// variable CLAUDE_CONFIG_DIR, or else .claude in the home directory.
	ConfigDir string
	// Limit is how many of the newest are wanted; 0 means all.
	Limit int
}

// A Session is a past conversation.
type Session struct {
	ID string
	// Title was given by a user; else it is "".
	Title string
	// FirstPrompt is how the conversation began.
	FirstPrompt string
	// Dir is where it worked, Branch the git branch there, if known.
	Dir, Branch string
	Tag         string
	// Modified is when it was last written to, and Size is the size of its file.
	Modified time.Time
	Size     int64
	// Path is the file that it is stored in.
	Path string
}

// Sessions lists sessions, newest first, by reading their files.
func Sessions(opts *SessionsOptions) ([]Session, error) {
	if opts == nil {
		opts = &SessionsOptions{}
	}
	paths, err := opts.files("*")
	if err != nil {
		return nil, err
	}
	var list []Session
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // it is gone meanwhile
		}
		id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		list = append(list, Session{ID: id, Path: path, Modified: info.ModTime(), Size: info.Size()})
	}
	slices.SortFunc(list, func(a, b Session) int {
		return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.ID, b.ID))
	})
	var kept []Session
	for _, s := range list {
		if opts.Limit > 0 && len(kept) == opts.Limit {
			break
		}
		if err := s.describe(); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		if opts.Dir == "" || s.Dir == "" || sameDir(s.Dir, opts.Dir) {
			kept = append(kept, s)
		}
	}
	return kept, nil
}

func sameDir(a, b string) bool { return slices.Contains(spellings(b), filepath.Clean(a)) }

// ErrNoSession is the error for a session that does not exist, here and when resuming.
var ErrNoSession = errors.New("no such session")

// A SessionMessage is a message of a session's file.
type SessionMessage struct {
	// Type is user or assistant.
	Type       string `json:"type"`
	UUID       string `json:"uuid"`
	ParentUUID string `json:"parentUuid"`
	// Timestamp is as in the file, usually in RFC 3339 format.
	Timestamp string `json:"timestamp"`
	// Message is a message of the Messages API.
	Message json.RawMessage `json:"message"`
	// ToolUseResult is the structured output of a tool.
	ToolUseResult json.RawMessage `json:"toolUseResult"`
	IsSidechain   bool            `json:"isSidechain"`
}

// SessionMessages returns the current conversation of a session, oldest first. Messages
// that were rewound are not in it.
func SessionMessages(id string, opts *SessionsOptions) ([]SessionMessage, error) {
	path, err := opts.file(id)
	if err != nil {
		return nil, err
	}
	return readChain(path, func(m *SessionMessage) bool { return !m.IsSidechain })
}

// file returns the file of one session.
func (o *SessionsOptions) file(id string) (string, error) {
	if o == nil {
		o = &SessionsOptions{}
	}
	if !plainID.MatchString(id) {
		return "", fmt.Errorf("%w: %s", ErrNoSession, id)
	}
	paths, err := o.files(id)
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("%w: %s", ErrNoSession, id)
	}
	return paths[0], nil
}

// note appends a line to the file of a session, in one write, so that it falls between the
// lines of a command line that has the session open.
func (o *SessionsOptions) note(id string, entry map[string]string) error {
	path, err := o.file(id)
	if err != nil {
		return err
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("change session: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("change session: %w", err)
	}
	defer file.Close()
	if cut, err := endsMidLine(file); err != nil {
		return fmt.Errorf("change session: %w", err)
	} else if cut {
		line = append([]byte("\n"), line...)
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("change session: %w", err)
	}
	return nil
}

// endsMidLine reports whether the last line is incomplete, as when its writer was killed.
func endsMidLine(file *os.File) (bool, error) {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, end-1)
	return last[0] != '\n', err
}

// files returns the files of sessions whose id matches.
func (o *SessionsOptions) files(id string) ([]string, error) {
	root := o.ConfigDir
	if root == "" {
		root = os.Getenv("CLAUDE_CONFIG_DIR")
	}
	if root == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find sessions: %w", err)
		}
		root = filepath.Join(home, ".claude")
	}
	projects := filepath.Join(root, "projects")
	folders, err := os.ReadDir(projects)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find sessions: %w", err)
	}
	var paths []string
	for _, folder := range folders {
		if o.Dir != "" && !folderMatches(folder.Name(), o.Dir) {
			continue
		}
		found, err := fs.Glob(os.DirFS(filepath.Join(projects, folder.Name())), id+".jsonl")
		if err != nil {
			return nil, fmt.Errorf("find sessions: %w", err)
		}
		for _, name := range found {
			paths = append(paths, filepath.Join(projects, folder.Name(), name))
		}
	}
	return paths, nil
}

var notAlnum = lazyregexp.New(`[^a-zA-Z0-9]`)

// folderMatches reports whether a folder can belong to a working directory. Its name is the path
// with everything but letters and digits replaced; a long name is cut, and a hash is added.
func folderMatches(folder, dir string) bool {
	const most = 200
	for _, d := range spellings(dir) {
		name := notAlnum.ReplaceAllString(d, "-")
		if folder == name || len(name) > most && strings.HasPrefix(folder, name[:most]) {
			return true
		}
	}
	return false
}

// spellings returns a directory's absolute path, and that without links.
func spellings(dir string) []string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	paths := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		paths = append(paths, real)
	}
	return paths
}

// readChain returns the conversation that ends with the last message of a file that counts.
func readChain(path string, counts func(*SessionMessage) bool) ([]SessionMessage, error) {
	all, leaf := map[string]SessionMessage{}, ""
	err := readLines(path, func(line []byte) {
		var m struct {
			SessionMessage
			Haft json.RawMessage `json:"haft"`
		}
		if json.Unmarshal(line, &m) != nil || m.UUID == "" || !counts(&m.SessionMessage) {
			return
		}
		all[m.UUID] = m.SessionMessage
		switch {
		case m.said():
			leaf = m.UUID
		case wentBack(m.Haft):
			leaf = m.ParentUUID
		}
	})
	if err != nil {
		return nil, err
	}
	return chain(all, leaf), nil
}

// wentBack reports whether a line says that the conversation went back to the line's parent;
// mark is what haft adds to it.
func wentBack(mark json.RawMessage) bool {
	var m struct{ Back *struct{} }
	return json.Unmarshal(mark, &m) == nil && m.Back != nil
}

// plainID matches session ids; anything else could be a pattern or a path.
var plainID = lazyregexp.New(`^[\w-]+$`)

// said reports whether the entry is part of the conversation. Other entries only link the
// chain.
func (m *SessionMessage) said() bool {
	return (m.Type == "user" || m.Type == "assistant") && len(m.Message) > 0
}

// chain follows parents from the newest message back to the first.
func chain(all map[string]SessionMessage, leaf string) []SessionMessage {
	var messages []SessionMessage
	for {
		m, ok := all[leaf]
		if !ok {
			slices.Reverse(messages)
			return messages
		}
		if m.said() {
			messages = append(messages, m)
		}
		delete(all, leaf) // a circle ends here
		leaf = m.ParentUUID
	}
}

// describe reads what the file says about the session as a whole.
func (s *Session) describe() error {
	return readLines(s.Path, func(line []byte) {
		var entry struct {
			Type, CustomTitle, Tag, Cwd, GitBranch string
			IsSidechain, IsMeta                    bool
			Message                                struct{ Content json.RawMessage }
		}
		// Most lines are long and say nothing new here.
		if s.FirstPrompt != "" && !bytes.Contains(line, []byte(`"custom-title"`)) && !bytes.Contains(line, []byte(`"tag"`)) {
			return
		}
		if json.Unmarshal(line, &entry) != nil {
			return
		}
		switch entry.Type {
		case "custom-title":
			s.Title = entry.CustomTitle
		case "tag":
			s.Tag = entry.Tag
		}
		s.Dir, s.Branch = cmp.Or(s.Dir, entry.Cwd), cmp.Or(s.Branch, entry.GitBranch)
		if entry.Type == "user" && s.FirstPrompt == "" && !entry.IsSidechain && !entry.IsMeta {
			s.FirstPrompt = promptText(entry.Message.Content)
		}
	})
}

func promptText(raw json.RawMessage) string {
	var c wire.Content
	if json.Unmarshal(raw, &c) != nil {
		return ""
	}
	return c.String()
}
