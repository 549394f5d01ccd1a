package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
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

// Export writes everything that was said in a session, including other branches and what
// was compacted, but not what only haft needs.
func (st *Store) Export(ctx context.Context, id string, w io.Writer, f Format) error {
	path, err := st.Find(id)
	if err != nil {
		return err
	}
	write := exportMarkdown
	switch f {
	case JSONL:
		write = exportJSONL
	case HTML:
		write = exportHTML
		if _, err := fmt.Fprintf(w, htmlHead, idOf(path)); err != nil {
			return fmt.Errorf("export session %s: %w", idOf(path), err)
		}
	case Markdown:
	default:
		return fmt.Errorf("export session: unknown format %q: use %s, %s or %s", f, Markdown, HTML, JSONL)
	}
	for e, err := range Entries(ctx, path) {
		if err == nil && e.Message != nil && (f == JSONL || !e.Message.Synthetic) {
			err = write(w, &e)
		}
		if err != nil {
			return fmt.Errorf("export session %s: %w", idOf(path), err)
		}
	}
	return nil
}

func exportJSONL(w io.Writer, e *Entry) error {
	out := exported{UUID: e.UUID, Role: e.Message.Role, Model: e.Message.Model, Content: e.Message.Content, Error: e.Message.Error}
	if !e.Time.IsZero() {
		out.Time = e.Time.Format("2006-01-02T15:04:05.000Z07:00")
	}
	raw, err := plainjson.Marshal(out)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

func exportMarkdown(w io.Writer, e *Entry) error {
	for _, b := range e.Message.Content {
		var err error
		switch b.Type {
		case model.Text:
			if e.Message.Role == model.User && Injected(b) {
				continue
			}
			_, err = fmt.Fprintf(w, "## %s\n\n%s\n\n", e.Message.Role, strings.TrimSpace(b.Text))
		case model.ToolUse:
			_, err = fmt.Fprintf(w, "### %s\n\n%s\n\n", b.Name, fence("json", plainjson.Indented(b.Input)))
		case model.ToolResult:
			_, err = fmt.Fprintf(w, "%s\n\n%s", fence("", tool.JoinText(b.Content)), diff(e.Message.Output))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// diff is what a call changed in a file, according to its typed output; "" if that does not
// say.
func diff(output json.RawMessage) string {
	var out struct {
		Path  string       `json:"filePath"`
		Hunks []patch.Hunk `json:"structuredPatch"`
	}
	if json.Unmarshal(output, &out) != nil || len(out.Hunks) == 0 {
		return ""
	}
	text := fmt.Sprintf("--- %s\n+++ %[1]s\n", out.Path)
	for _, h := range out.Hunks {
		text += fmt.Sprintf("@@ -%d,%d +%d,%d @@\n%s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, strings.Join(h.Lines, "\n"))
	}
	return fence("diff", text) + "\n\n"
}

// fence quotes a text of a language by more backquotes than it has.
func fence(lang, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + lang + "\n" + strings.TrimRight(text, "\n") + "\n" + marks
}

const htmlHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>%s</title>
<style>body{max-width:60em;margin:2em auto;padding:0 1em;font-family:sans-serif;line-height:1.5}pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.7em;border-radius:.4em}
h2{font-size:1em;color:#888}summary{cursor:pointer}</style></head><body>
`

// List returns sessions, most recently written first. It reads only the beginning and the
// end of each file.
func (st *Store) List(opts *ListOptions) ([]Info, error) {
	var o ListOptions
	if opts != nil {
		o = *opts
	}
	folder := filepath.Join(globEscape(st.dir), "*")
	if o.Cwd != "" {
		folder = globEscape(st.project(o.Cwd))
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []Info
	for _, path := range paths {
		stat, err := os.Stat(path)
		if err != nil || stat.Size() == 0 || !isUUID(idOf(path)) {
			continue
		}
		list = append(list, Info{ID: idOf(path), Path: path, Modified: stat.ModTime(), Size: stat.Size()})
	}
	slices.SortFunc(list, func(a, b Info) int { return b.Modified.Compare(a.Modified) })
	kept := list[:0]
	for _, info := range list {
		if o.Limit > 0 && len(kept) == o.Limit {
			break
		}
		if err := info.fill(&o); err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		if o.Cwd == "" || !info.foreign(o.Cwd) {
			kept = append(kept, info)
		}
	}
	return kept, nil
}

// Info returns what a list shows about one session.
func (st *Store) Info(id string) (Info, error) {
	path, err := st.Find(id)
	if err != nil {
		return Info{}, err
	}
	stat, err := os.Stat(path)
	if err != nil {
		return Info{}, fmt.Errorf("look at session: %w", err)
	}
	i := Info{ID: idOf(path), Path: path, Modified: stat.ModTime(), Size: stat.Size()}
	return i, i.look()
}

// Prune deletes sessions, and the blobs that no session refers to any more. Nothing else ever
// deletes sessions or blobs, and Prune runs only on request.
func (st *Store) Prune(ctx context.Context, opts *PruneOptions) (*Pruned, error) {
	var o PruneOptions
	if opts != nil {
		o = *opts
	}
	p := &Pruned{Sessions: []Info{}}
	doomed, err := st.doomed(&o)
	if err != nil {
		return nil, fmt.Errorf("prune sessions: %w", err)
	}
	gone := map[string]bool{}
	for _, i := range doomed {
		size := i.Size + sizeOf(dirOf(i.Path))
		if err := deleteSession(ctx, &i, o.DryRun); err != nil {
			return p, fmt.Errorf("prune sessions: %w", err)
		}
		gone[i.Path] = true
		p.Sessions = append(p.Sessions, i)
		p.Bytes += size
	}
	if err := p.collect(ctx, st.dir, gone, &o); err != nil {
		return p, fmt.Errorf("prune blobs: %w", err)
	}
	return p, nil
}

// sizeOf returns how much is in a folder, as far as it can be read.
func sizeOf(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// doomed returns the sessions to delete.
func (st *Store) doomed(o *PruneOptions) ([]Info, error) {
	var out []Info
	for _, id := range o.IDs {
		i, err := st.Info(id)
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	if o.Older <= 0 {
		return out, nil
	}
	all, err := st.List(nil)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if time.Since(i.Modified) > o.Older {
			out = append(out, i)
		}
	}
	return out, nil
}

// resumeLogs continues a session that is stored in logs. Another writer finds out at its
// next entry.
func (st *Store) resumeLogs(ctx context.Context, id string, o *ResumeOptions) (*Session, error) {
	if !isUUID(id) || o.Fork && o.NewID != "" && !isUUID(o.NewID) {
		return nil, fmt.Errorf("the id is not a UUID: %w", ErrNotFound)
	}
	s, err := st.fromLogs(ctx, id, origin{})
	if err != nil {
		return nil, err
	}
	main := s.streams[""]
	if main.pos == (Pos{}) {
		return nil, ErrNotFound
	}
	if o.Drops != "" && o.At != "" {
		r, err := main.read(ctx, "", "")
		if err == nil {
			err = r.checkDrops(o)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := main.read(ctx, "", o.At)
	if err != nil {
		return nil, err
	}
	if o.Fork {
		return st.forkLogs(ctx, s, r, o)
	}
	s.origin = r.origin(o)
	s.dir = st.sessionDir(s.origin.cwd, id)
	return s, r.restore(ctx, s, o)
}

// forkLogs continues what was read in a new session.
func (st *Store) forkLogs(ctx context.Context, from *Session, r *reading, o *ResumeOptions) (*Session, error) {
	id := o.NewID
	if id == "" {
		id = NewUUID()
	}
	s, err := st.fromLogs(ctx, id, r.origin(o))
	if err != nil {
		return nil, err
	}
	main := s.streams[""]
	if main.pos != (Pos{}) {
		return nil, fmt.Errorf("fork it as %s: %w", id, errInUse)
	}
	var out bytes.Buffer
	for i, l := range r.lines {
		fork := *l
		raw, err := fork.forked(ctx, from.id, id, s.blobs)
		if err != nil {
			return nil, err
		}
		out.Write(raw)
		if out.Len() < largestChunk && i < len(r.lines)-1 {
			continue
		}
		if err := main.write(ctx, out.Bytes()); err != nil {
			return nil, err
		}
		out.Reset()
	}
	r.torn = false
	return s, r.restore(ctx, s, o)
}

// Create begins a session. The first Append creates its file.
func (st *Store) Create(ctx context.Context, opts *CreateOptions) (*Session, error) {
	var o CreateOptions
	if opts != nil {
		o = *opts
	}
	if o.ID == "" {
		o.ID = NewUUID()
	}
	if !isUUID(o.ID) {
		return nil, fmt.Errorf("create session: the id %q is not a UUID", o.ID)
	}
	cwd, err := directory(o.Cwd)
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	where := origin{cwd, o.Version, o.GitBranch}
	if st.logs != nil {
		s, err := st.fromLogs(ctx, o.ID, where)
		if err == nil && s.streams[""].pos != (Pos{}) {
			err = errInUse
		}
		if err != nil {
			return nil, fmt.Errorf("create session %s: %w", o.ID, err)
		}
		return s, nil
	}
	path := filepath.Join(st.project(cwd), o.ID+".jsonl")
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("create session %s: %w", o.ID, errInUse)
	}
	return newSession(path, where, true), nil
}

// fromLogs opens the log of a session's main conversation.
func (st *Store) fromLogs(ctx context.Context, id string, o origin) (*Session, error) {
	log, pos, err := st.logs.Open(ctx, id, "")
	if err != nil {
		return nil, err
	}
	return &Session{
		id: id, dir: st.sessionDir(o.cwd, id), logs: st.logs, origin: o,
		restored: newRestored(),
		blobs:    &blobs{Store: st.logs.Blobs()},
		streams:  map[string]*stream{"": {log: log, pos: pos}},
		uses:     map[string]pendingCall{},
	}, nil
}

// sessionDir is the folder of what belongs to a session in logs.
func (st *Store) sessionDir(cwd, id string) string { return filepath.Join(st.project(cwd), id) }

// Resume continues a session. The beginning of the id is enough, as for [Store.Find]. The error is
// an [InUseError] if another program is writing to it.
func (st *Store) Resume(ctx context.Context, id string, opts *ResumeOptions) (*Session, error) {
	var o ResumeOptions
	if opts != nil {
		o = *opts
	}
	if st.logs != nil {
		s, err := st.resumeLogs(ctx, id, &o)
		if err != nil {
			return nil, fmt.Errorf("resume session %s: %w", id, err)
		}
		return s, nil
	}
	path, err := st.Find(id)
	if err != nil {
		return nil, err
	}
	if err := checkDrops(ctx, path, &o); err != nil {
		return nil, fmt.Errorf("resume session %s: %w", idOf(path), err)
	}
	if o.Fork {
		return st.resumeFork(ctx, path, &o)
	}
	held, err := acquireSoon(ctx, dirOf(path), idOf(path))
	if err != nil {
		return nil, err
	}
	s, err := resume(ctx, path, &o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("resume session %s: %w", idOf(path), err), held.release())
	}
	s.lock, s.restored.Waited = held, held.waited
	return s, nil
}

// Fork copies the conversation of a session, up to a message if at is not "", into a new
// session and returns its id.
func (st *Store) Fork(ctx context.Context, id, at string) (newID string, err error) {
	s, err := st.Resume(ctx, id, &ResumeOptions{At: at, Fork: true})
	if err != nil {
		return "", err
	}
	return s.ID(), s.Close()
}

func (st *Store) resumeFork(ctx context.Context, path string, o *ResumeOptions) (*Session, error) {
	if o.NewID == "" {
		o.NewID = NewUUID()
	}
	if !isUUID(o.NewID) {
		return nil, fmt.Errorf("fork session: the id %q is not a UUID", o.NewID)
	}
	if err := quiet(ctx, dirOf(path)); err != nil {
		return nil, fmt.Errorf("fork session %s: %w", idOf(path), err)
	}
	r, err := read(ctx, path, "", o.At)
	if err != nil {
		return nil, fmt.Errorf("fork session %s: %w", idOf(path), err)
	}
	project := filepath.Dir(path)
	if o.Cwd != "" {
		project = st.project(o.Cwd)
	}
	target := filepath.Join(project, o.NewID+".jsonl")
	held, err := acquire(ctx, dirOf(target), o.NewID)
	if err != nil {
		return nil, err
	}
	if err := r.copyTo(ctx, path, target); err != nil {
		return nil, errors.Join(fmt.Errorf("fork session %s: %w", idOf(path), err), held.release())
	}
	r.torn = false
	s, err := r.session(ctx, target, o)
	if err != nil {
		return nil, errors.Join(err, held.release())
	}
	s.lock = held
	return s, nil
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
