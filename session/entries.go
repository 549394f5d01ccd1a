package session

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/internal/text/rawname"
)

// Entries returns the entries of a journal in the order of the file, with long strings
// restored. Lines that cannot be parsed, and lines of other programs that say nothing about
// the conversation, are left out. After an error there are no more entries.
func Entries(ctx context.Context, path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		file, err := regular.Open(path)
		if err != nil {
			yield(Entry{}, fmt.Errorf("open session: %w", err))
			return
		}
		defer file.Close()
		in := bufio.NewReaderSize(file, 1<<16)
		blobs := blobsIn(filepath.Dir(path))
		for ctx.Err() == nil {
			raw, err := in.ReadBytes('\n')
			if e, ok := entryOf(ctx, raw, blobs); ok && !yield(e, nil) {
				return
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read session: %w", err))
				return
			}
		}
		yield(Entry{}, ctx.Err())
	}
}

// entryOf reads a line as an entry.
func entryOf(ctx context.Context, raw []byte, blobs *blobs) (Entry, bool) {
	var l line
	if l.decode(bytes.Trim(raw, "\x00 \t\r\n")) != nil {
		return Entry{}, false
	}
	blobs.restore(ctx, &l)
	x := l.extra()
	e := Entry{UUID: l.UUID, Parent: l.parent(), Agent: l.AgentID, Time: l.time(), Call: x.Call, State: x.State, Checkpoint: x.Checkpoint.named(rawname.Decode), Ask: x.Ask, Answer: x.Answer, Back: x.Back}
	switch {
	case l.isBoundary():
		e.Compaction = &Compaction{}
		if l.Compact != nil {
			e.Compaction.Trigger, e.Compaction.PreTokens = l.Compact.Trigger, l.Compact.PreTokens
		}
	case l.isMessage():
		m, err := l.message()
		if err != nil {
			return Entry{}, false
		}
		e.Message = m
	case l.Type == "custom-title":
		value, err := plainjson.Marshal(l.CustomTitle)
		if err != nil {
			return Entry{}, false
		}
		e.State = &State{titleState, value}
	}
	return e, e.Message != nil || e.Call != nil || e.State != nil || e.Checkpoint != nil || e.Compaction != nil || e.Ask != nil || e.Answer != nil || e.Back != nil
}
