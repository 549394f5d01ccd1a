package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
)

// Text returns a whole conversation, checked entry by entry; agent "" is the main one.
func (l *Logs) Text(ctx context.Context, id, agent string) ([]byte, error) {
	log, _, err := l.Open(ctx, id, agent)
	if err != nil {
		return nil, err
	}
	var pieces [][]byte
	for p, err := range log.Back(ctx) {
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
	}
	slices.Reverse(pieces)
	return bytes.Join(pieces, nil), nil
}

// Seal writes a session into a store, in the layout of haft's own sessions, and returns where the
// main conversation is and its SHA-256. The journal stays until [Logs.Purge].
func (l *Logs) Seal(ctx context.Context, id string, to archive.Store) (location, digest string, err error) {
	agents, err := l.agents(ctx, id)
	if err != nil {
		return "", "", fmt.Errorf("could not archive session %s: %w", id, err)
	}
	// The main conversation comes last: where it is, the others are.
	for _, agent := range append(agents, "") {
		text, err := l.Text(ctx, id, agent)
		if err == nil {
			err = l.keepBlobs(ctx, text, to)
		}
		if err == nil {
			location, err = to.Put(ctx, sealedName(id, agent), text)
		}
		if err != nil {
			return "", "", fmt.Errorf("could not archive session %s: %w", id, err)
		}
		sum := sha256.Sum256(text)
		digest = hex.EncodeToString(sum[:])
	}
	return location, digest, nil
}

// sealedName is where a conversation is in a store.
func sealedName(id, agent string) string {
	if agent == "" {
		return id + ".jsonl"
	}
	return id + "/subagents/agent-" + agent + ".jsonl"
}

// agents are those of a session that have conversations of their own.
func (l *Logs) agents(ctx context.Context, id string) (names []string, err error) {
	all, err := l.conversations(ctx, id)
	for _, conversation := range all {
		if name, ok := strings.CutPrefix(conversation, agentPrefix); ok {
			names = append(names, name)
		}
	}
	return names, err
}

// conversations are the names of those that a session has.
func (l *Logs) conversations(ctx context.Context, id string) (names []string, err error) {
	s, err := l.conn.Stream(ctx, engine.Journals(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(l.subject("j", id, "*")))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		names = append(names, subject[strings.LastIndexByte(subject, '.')+1:])
	}
	return names, nil
}

// keepBlobs copies the contents that lines refer to.
func (l *Logs) keepBlobs(ctx context.Context, text []byte, to archive.Store) error {
	for line := range bytes.Lines(text) {
		var refs struct {
			Haft struct {
				Blobs []string `json:"blobs"`
			} `json:"haft"`
		}
		if json.Unmarshal(line, &refs) != nil {
			continue // what a crash has left of a line
		}
		for _, digest := range refs.Haft.Blobs {
			content, err := l.Blobs().Get(ctx, digest)
			if err == nil {
				_, err = to.Put(ctx, "haft-blobs/"+digest[:2]+"/"+digest[2:], content)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Purge deletes the journal of a session that was sealed. Its main conversation, which the store has
// under a name, must have the digest, and the store must have all that the journal has: what was
// written since is not lost.
func (l *Logs) Purge(ctx context.Context, id string, from archive.Store, name, digest string) error {
	text, err := from.Get(ctx, name)
	if err != nil {
		return fmt.Errorf("could not check the archived session: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("cannot delete the journal of session %s: %s in the archive differs from what was written", id, name)
	}
	names, err := l.conversations(ctx, id)
	if err != nil {
		return fmt.Errorf("could not check the archived session: %w", err)
	}
	for _, conversation := range names {
		agent := strings.TrimPrefix(conversation, agentPrefix)
		if conversation == mainName {
			agent = ""
		}
		sealed, err := from.Get(ctx, sealedName(id, agent))
		if err != nil {
			return fmt.Errorf("could not check the archived session: %w", err)
		}
		text, err := l.Text(ctx, id, agent)
		if err != nil {
			return fmt.Errorf("could not check the archived session: %w", err)
		}
		if !bytes.Equal(sealed, text) {
			return fmt.Errorf("cannot delete the journal of session %s: %s in the archive differs from the journal", id, sealedName(id, agent))
		}
	}
	return l.Delete(ctx, id)
}

// Delete deletes the journal of a session for good. What was begun is finished even if ctx ends. The
// witnesses come first: without them, what is left of a journal can be read and deleted.
func (l *Logs) Delete(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	shard := engine.ShardOf(id)
	for _, part := range [][2]string{{engine.Sessions(shard), l.subject("w", id, "*")}, {engine.Journals(shard), l.subject("j", id, "*")}} {
		err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
			s, err := l.conn.Stream(ctx, part[0])
			if err == nil {
				err = s.Purge(ctx, jetstream.WithPurgeSubject(part[1]))
			}
			return true, err
		})
		if err != nil {
			return fmt.Errorf("could not delete the journal of session %s: %w", id, err)
		}
	}
	return nil
}
