package session

import (
	"bytes"
	"context"
	"fmt"
)

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
