package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/model"
)

// A Position records how much of a session's files has been read: of its own file and of each
// agent's. Its text is a number, followed by a name and a number for each agent. "" is the
// beginning.
type Position string

// A Followed entry is one that a [Follower] has read.
type Followed struct {
	Entry
	// After is the position after this entry: a follower that starts there gets what comes
	// next.
	After Position
	// File and Offset say where its line is; see [ReadAt].
	File   string
	Offset int64
}

// A Follower reads what is appended to the files of a session, in the process that writes
// them or in another one. It belongs to one goroutine.
type Follower struct {
	path  string
	blobs *blobs
	at    map[string]int64 // by file; the session's own is ""
	read  map[string][]pending
	more  map[string]bool // whether a file had more than what was read of it
}

// A pending entry was read and not returned yet.
type pending struct {
	Followed
	end int64
}

// Follow returns a follower of the session in the file at path, starting at a position.
func Follow(path string, from Position) (*Follower, error) {
	at, err := from.parse()
	if err != nil {
		return nil, err
	}
	return &Follower{path: path, blobs: blobsIn(filepath.Dir(path)), at: at, read: map[string][]pending{}, more: map[string]bool{}}, nil
}

// Position returns the position after the last returned entry.
func (f *Follower) Position() Position { return position(f.at) }

// Next returns entries that were appended since, at most about a chunk of each file, in
// chronological order; none if there is nothing new. An incomplete line is waited for.
// Lines without information are skipped.
func (f *Follower) Next(ctx context.Context) ([]Followed, error) {
	for {
		before := maps.Clone(f.at)
		if err := f.fill(ctx); err != nil {
			return nil, fmt.Errorf("follow session: %w", err)
		}
		if list := f.merge(); len(list) > 0 || maps.Equal(before, f.at) {
			return list, ctx.Err()
		}
	}
}

// fill reads on in files of which all was returned. A session that is in logs has none.
func (f *Follower) fill(ctx context.Context) error {
	if f.path == "" {
		return nil
	}
	files := map[string]string{"": f.path}
	agents, _ := filepath.Glob(filepath.Join(globEscape(dirOf(f.path)), "subagents", "agent-*.jsonl")) // the pattern is ours
	for _, path := range agents {
		files[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "agent-"), ".jsonl")] = path
	}
	for name, path := range files {
		if len(f.read[name]) > 0 {
			continue
		}
		list, err := f.chunk(ctx, name, path)
		if err != nil {
			return err
		}
		f.read[name] = list
	}
	return nil
}

// merge returns what was read in chronological order. It stops when a file that may have
// more is used up, so that the others do not get ahead of it.
func (f *Follower) merge() []Followed {
	var out []Followed
	names := slices.Sorted(maps.Keys(f.read))
	for {
		first := ""
		found := false
		for _, name := range names {
			list := f.read[name]
			if len(list) > 0 && (!found || list[0].Time.Before(f.read[first][0].Time)) {
				first, found = name, true
			}
		}
		if !found {
			return out
		}
		p := f.read[first][0]
		f.read[first] = f.read[first][1:]
		f.at[first] = p.end
		if !p.empty() {
			p.After = position(f.at)
			out = append(out, p.Followed)
		}
		if len(f.read[first]) == 0 && f.more[first] {
			return out
		}
	}
}

func (p *pending) empty() bool {
	return p.Message == nil && p.Call == nil && p.State == nil && p.Checkpoint == nil && p.Compaction == nil && p.Ask == nil && p.Answer == nil && p.Back == nil
}

// followChunk is how much of a file is read at once; longer lines are read completely.
const followChunk = 1 << 20

// chunk reads whole lines of a file behind what was read.
func (f *Follower) chunk(ctx context.Context, name, path string) ([]pending, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() <= f.at[name] {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	from := f.at[name]
	var raw []byte
	for size := int64(followChunk); ; size *= 2 {
		raw = make([]byte, min(size, info.Size()-from))
		n, err := file.ReadAt(raw, from)
		if err != nil && err != io.EOF {
			return nil, err
		}
		raw = raw[:n]
		end := bytes.LastIndexByte(raw, '\n')
		if end >= 0 {
			raw = raw[:end+1]
			break
		}
		if from+size >= info.Size() {
			return nil, nil
		}
	}
	f.more[name] = from+int64(len(raw)) < info.Size()
	var list []pending
	at := from
	for l := range bytes.Lines(raw) {
		list = append(list, pending{Followed{File: name, Offset: at}, at + int64(len(l))})
		at += int64(len(l))
	}
	var parsing sync.WaitGroup
	for part := range slices.Chunk(list, max(linesEach, len(list)/runtime.GOMAXPROCS(0)+1)) {
		parsing.Go(func() {
			for n := range part {
				p := &part[n]
				p.Entry, _ = followedEntry(ctx, raw[p.Offset-from:p.end-from], f.blobs)
			}
		})
	}
	parsing.Wait()
	return list, nil
}

// linesEach is how many lines are worth a processor of their own.
const linesEach = 64

// followedEntry parses a line. The end of an answer is a message without content, as it was
// appended.
func followedEntry(ctx context.Context, raw []byte, blobs *blobs) (Entry, bool) {
	e, ok := entryOf(ctx, raw, blobs)
	if ok || !bytes.Contains(raw, []byte(`"stop"`)) {
		return e, ok
	}
	var l line
	if l.decode(bytes.Trim(raw, "\x00 \t\r\n")) != nil || l.extra().Stop == nil {
		return Entry{}, false
	}
	s := l.Haft.Stop
	return Entry{UUID: l.UUID, Agent: l.AgentID, Time: l.time(), Message: &Message{Role: model.Assistant, ID: s.ID, Model: s.Model, StopReason: s.Reason, Usage: s.Usage}}, true
}

// ReadAt returns the entry of the session at path that a [Followed] names by its file and
// offset.
func ReadAt(ctx context.Context, path, file string, offset int64) (Entry, error) {
	if file != "" {
		path = filepath.Join(dirOf(path), "subagents", "agent-"+fileName(file)+".jsonl")
	}
	in, err := regular.Open(path)
	if err != nil {
		return Entry{}, fmt.Errorf("read session: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Entry{}, fmt.Errorf("read session: %w", err)
	}
	for size := int64(64 << 10); ; size *= 4 {
		raw := make([]byte, max(0, min(size, info.Size()-offset)))
		n, err := in.ReadAt(raw, offset)
		if err != nil && err != io.EOF {
			return Entry{}, fmt.Errorf("read session: %w", err)
		}
		if end := bytes.IndexByte(raw[:n], '\n'); end >= 0 {
			if e, ok := followedEntry(ctx, raw[:end], blobsIn(filepath.Dir(inProject(path, file)))); ok {
				return e, nil
			}
			return Entry{}, fmt.Errorf("read session: the line at %d is empty", offset)
		}
		if offset+size >= info.Size() {
			return Entry{}, fmt.Errorf("read session: there is no line at %d", offset)
		}
	}
}

// inProject returns the session's own file for that of an agent, which is two folders
// below.
func inProject(path, agent string) string {
	if agent == "" {
		return path
	}
	return filepath.Dir(filepath.Dir(path))
}

// parse reads a position.
func (p Position) parse() (map[string]int64, error) {
	at := map[string]int64{}
	if p == "" {
		return at, nil
	}
	for i, part := range strings.Split(string(p), ",") {
		name, number := "", part
		if i > 0 {
			name, number, _ = strings.Cut(part, ":")
			if name == "" || name != fileName(name) {
				return nil, fmt.Errorf("%q is not a position in a session", p)
			}
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a position in a session", p)
		}
		at[name] = n
	}
	return at, nil
}

func position(at map[string]int64) Position {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(at[""], 10))
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if name != "" && at[name] > 0 {
			fmt.Fprintf(&b, ",%s:%d", name, at[name])
		}
	}
	return Position(b.String())
}
