package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/haftdev/haft/internal/keep"
	"github.com/haftdev/haft/internal/regular"
)

// A Store is a directory of sessions: one folder per project, with a file per session and a
// folder beside it for everything else of the session.
type Store struct {
	dir  string
	logs Logs // nil if the journals are files
}

// Open returns the store in dir. "" means the directory that the official tools use, so
// that each sees the other's sessions. Nothing is created until it is needed.
func Open(dir string) *Store {
	if dir == "" {
		dir = filepath.Join(keep.Sessions(), "projects")
	}
	return &Store{dir: dir}
}

// OpenLogs returns a store whose journals are in logs. Other files of a session on this
// machine are in dir, as with [Open]. Sessions are created and resumed by their full ids; to
// list and find them, ask the store that keeps the logs.
func OpenLogs(logs Logs, dir string) *Store { return &Store{dir: dir, logs: logs} }

// Dir returns where the store is.
func (st *Store) Dir() string { return st.dir }

// project returns the folder of the sessions of a working directory.
func (st *Store) project(cwd string) string {
	return filepath.Join(st.dir, mangle(physical(cwd)))
}

// physical is a folder without links, if it exists.
func physical(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

const longestName = 200

// mangle makes a folder name from a path, as the official tools do: they count in UTF-16,
// and distinguish long paths by a hash.
func mangle(path string) string {
	var name strings.Builder
	var hash int32
	units := utf16.Encode([]rune(path))
	for _, u := range units {
		hash = hash*31 + int32(u)
		switch {
		case u >= '0' && u <= '9', u >= 'A' && u <= 'Z', u >= 'a' && u <= 'z':
			name.WriteByte(byte(u))
		default:
			name.WriteByte('-')
		}
	}
	if len(units) <= longestName {
		return name.String()
	}
	return name.String()[:longestName] + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}

// ErrNotFound is the error for a session that does not exist.
var ErrNotFound = errors.New("no such session")

// notFound is the id of a session that does not exist. Programs look for this exact
// sentence.
type notFound string

func (id notFound) Error() string     { return "No conversation found with session ID: " + string(id) }
func (notFound) Is(target error) bool { return target == ErrNotFound }

// Find returns the file of a session, in whichever folder it is. The beginning of the
// id is enough if no other session begins with it.
func (st *Store) Find(id string) (path string, err error) {
	if id == "" || strings.Trim(id, "0123456789abcdefABCDEF-") != "" {
		return "", notFound(id)
	}
	found, err := filepath.Glob(filepath.Join(globEscape(st.dir), "*", id+"*.jsonl"))
	if err != nil {
		return "", fmt.Errorf("find session %s: %w", id, err)
	}
	for _, path := range found {
		if idOf(path) == id {
			return path, nil
		}
	}
	switch len(found) {
	case 0:
		return "", notFound(id)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, path := range found {
		names[i] = idOf(path)
	}
	return "", fmt.Errorf("several sessions begin with %s: %s. Give more of the ID", id, strings.Join(names, ", "))
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".jsonl") }

// Latest returns the session of a working directory that was written to last, preferring
// one that has messages, because applied previews are sessions too. The error is
// ErrNotFound if there is none.
func (st *Store) Latest(cwd string) (id string, err error) {
	entries, err := os.ReadDir(st.project(cwd))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the latest session: %w", err)
	}
	var found []fs.FileInfo
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if info, err := e.Info(); ok && err == nil && isUUID(name) && info.Size() > 0 {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range found {
		path := filepath.Join(st.project(cwd), info.Name())
		if of := (&Info{Path: path, Size: info.Size()}); of.foreign(cwd) {
			continue
		}
		if hasMessages(path, info.Size()) {
			return idOf(path), nil
		}
		if id == "" {
			id = idOf(path)
		}
	}
	if id == "" {
		return "", fmt.Errorf("find the latest session of %s: %w", cwd, ErrNotFound)
	}
	return id, nil
}

// hasMessages reports whether a journal has a message; a long one always does. If it cannot
// be read, the caller reports that.
func hasMessages(path string, size int64) bool {
	if size > glance {
		return true
	}
	text, err := regular.Read(path, glance)
	if err != nil {
		return true
	}
	for raw := range bytes.Lines(text) {
		var l line
		if l.decode(raw) == nil && (l.Type == "user" || l.Type == "assistant") {
			return true
		}
	}
	return false
}

// dirOf is the folder of what belongs to the session in a file.
func dirOf(path string) string { return strings.TrimSuffix(path, ".jsonl") }
