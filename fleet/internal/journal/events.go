package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
)

// An Event is one line of a journal with its place. Who has seen an event asks for what
// comes after its id, and sees every other one once.
type Event struct {
	ID    string          `json:"id"`
	Entry json.RawMessage `json:"entry"`
}

// Events returns what the main conversation of a session has after an event, up to now; ""
// means from the beginning.
func (l *Logs) Events(ctx context.Context, id, after string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var seq uint64
		var offset int
		if after != "" {
			if n, err := fmt.Sscanf(after, "%d.%d", &seq, &offset); n != 2 || err != nil || offset < 0 {
				yield(Event{}, fmt.Errorf("%q is not the id of an event", after))
				return
			}
		}
		list, err := l.since(ctx, id, seq)
		if err != nil {
			yield(Event{}, err)
			return
		}
		var line []byte // a long one is in several messages
		for _, e := range list {
			rest, at := e.body, 0
			if e.pos.Seq == seq {
				at = min(offset, len(rest))
				rest = rest[at:]
			}
			for len(rest) > 0 {
				end := bytes.IndexByte(rest, '\n')
				if end < 0 {
					line = append(line, rest...)
					break
				}
				line, rest, at = append(line, rest[:end]...), rest[end+1:], at+end+1
				if len(line) > 0 && !yield(Event{fmt.Sprintf("%d.%d", e.pos.Seq, at), line}, nil) {
					return
				}
				line = nil
			}
		}
	}
}

// since returns the entries of a session from a number on, the oldest first.
func (l *Logs) since(ctx context.Context, id string, seq uint64) ([]*entry, error) {
	g, _, err := l.open(ctx, id, mainName)
	if err != nil {
		return nil, err
	}
	var list []*entry
	for e, err := range g.entries(ctx) {
		if err != nil {
			return nil, l.report(err)
		}
		if e.pos.Seq < seq {
			break
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return list, nil
}
