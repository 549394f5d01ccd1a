package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/workspace/blob"
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

// Seal writes a session into files, in the layout of haft's own sessions, and returns that of
// the main conversation and its SHA-256. The journal stays until [Logs.Purge].
func (l *Logs) Seal(ctx context.Context, id, dir string) (path, digest string, err error) {
	agents, err := l.agents(ctx, id)
	if err != nil {
		return "", "", fmt.Errorf("seal session %s: %w", id, err)
	}
	path = filepath.Join(dir, id+".jsonl")
	files := map[string]string{"": path}
	for _, agent := range agents {
		files[agent] = filepath.Join(dir, id, "subagents", "agent-"+agent+".jsonl")
	}
	for agent, file := range files {
		text, err := l.Text(ctx, id, agent)
		if err == nil {
			err = l.keepBlobs(ctx, text, blob.Dir(filepath.Join(dir, "haft-blobs")))
		}
		if err == nil {
			err = engine.WriteFile(file, text)
		}
		if err != nil {
			return "", "", fmt.Errorf("seal session %s: %w", id, err)
		}
		if agent == "" {
			sum := sha256.Sum256(text)
			digest = hex.EncodeToString(sum[:])
		}
	}
	return path, digest, nil
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
func (l *Logs) keepBlobs(ctx context.Context, text []byte, to blob.Store) error {
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
				err = to.Put(ctx, digest, content)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Purge deletes the journal of a session whose file at path has the digest.
func (l *Logs) Purge(ctx context.Context, id, path, digest string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("check the sealed session: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("keep the journal of session %s: %s is not what was sealed", id, path)
	}
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
