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
		return "", "", fmt.Errorf("seal session %s: %w", id, err)
	}
	// The main conversation comes last: where it is, the others are.
	for _, agent := range append(agents, "") {
		name := id + ".jsonl"
		if agent != "" {
			name = id + "/subagents/agent-" + agent + ".jsonl"
		}
		text, err := l.Text(ctx, id, agent)
		if err == nil {
			err = l.keepBlobs(ctx, text, to)
		}
		if err == nil {
			location, err = to.Put(ctx, name, text)
		}
		if err != nil {
			return "", "", fmt.Errorf("seal session %s: %w", id, err)
		}
		sum := sha256.Sum256(text)
		digest = hex.EncodeToString(sum[:])
	}
	return location, digest, nil
}

// agents are those of a session that have conversations of their own.
func (l *Logs) agents(ctx context.Context, id string) (names []string, err error) {
	s, err := l.conn.Stream(ctx, engine.Journals(engine.ShardOf(id)))
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(l.subject("j", id, "*")))
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		if name, ok := strings.CutPrefix(subject[strings.LastIndexByte(subject, '.')+1:], agentPrefix); ok {
			names = append(names, name)
		}
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

// Purge deletes the journal of a session whose main conversation, which the store has under a
// name, has the digest.
func (l *Logs) Purge(ctx context.Context, id string, from archive.Store, name, digest string) error {
	text, err := from.Get(ctx, name)
	if err != nil {
		return fmt.Errorf("check the sealed session: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("keep the journal of session %s: %s is not what was sealed", id, name)
	}
	return l.Delete(ctx, id)
}

// Delete deletes the journal of a session for good.
func (l *Logs) Delete(ctx context.Context, id string) error {
	for name, subject := range map[string]string{engine.Sessions(engine.ShardOf(id)): l.subject("w", id, "*"), engine.Journals(engine.ShardOf(id)): l.subject("j", id, "*")} {
		s, err := l.conn.Stream(ctx, name)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if err != nil {
			return fmt.Errorf("delete the journal of session %s: %w", id, err)
		}
	}
	return nil
}
