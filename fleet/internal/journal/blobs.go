package journal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// blobs are contents in the object store of the engine.
type blobs struct {
	conn   *engine.Conn
	tenant string
	run    string // whose files they are; "" for other contents
}

var _ blob.Store = (*blobs)(nil)

func (b *blobs) name(digest string) string { return b.tenant + "/" + digest }

// The layout is that of an object store of NATS, but nothing is rolled up, and reading needs no consumer: a worker's key
// allows neither.
const (
	stream      = "OBJ_" + engine.Blobs
	chunkPrefix = "$O." + engine.Blobs + ".C."
	metaPrefix  = "$O." + engine.Blobs + ".M."
	chunkSize   = 128 << 10
)

func (b *blobs) meta(digest string) string {
	return metaPrefix + base64.URLEncoding.EncodeToString([]byte(b.name(digest)))
}

// Put implements [blob.Store].
func (b *blobs) Put(ctx context.Context, digest string, content []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		info, err := b.info(ctx, digest)
		if err == nil && info.Size == uint64(len(content)) {
			return false, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true, err
		}
		return true, b.put(ctx, digest, content)
	})
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

// put stores the chunks and then says where they are.
func (b *blobs) put(ctx context.Context, digest string, content []byte) error {
	sum := sha256.Sum256(content)
	info := &jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: b.name(digest), Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}},
		Bucket:     engine.Blobs, NUID: rand.Text(), Size: uint64(len(content)), Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:]),
	}
	if b.run != "" {
		info.Metadata = map[string]string{runKey: b.run}
	}
	var sent []jetstream.PubAckFuture
	for chunk := range slices.Chunk(content, chunkSize) {
		ack, err := b.conn.JS.PublishAsync(chunkPrefix+info.NUID, chunk)
		if err != nil {
			return err
		}
		sent = append(sent, ack)
	}
	for _, ack := range sent {
		select {
		case <-ack.Ok():
			info.Chunks++
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	raw, err := json.Marshal(info)
	if err == nil {
		_, err = b.conn.JS.Publish(ctx, b.meta(digest), raw)
	}
	return err
}

// info says where a content is. The error is [fs.ErrNotExist] if it is nowhere.
func (b *blobs) info(ctx context.Context, digest string) (*jetstream.ObjectInfo, error) {
	s, err := b.conn.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	m, err := s.GetLastMsgForSubject(ctx, b.meta(digest))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	info := new(jetstream.ObjectInfo)
	if err := json.Unmarshal(m.Data, info); err != nil || info.Deleted || !engine.Word(info.NUID) {
		return nil, fs.ErrNotExist
	}
	return info, nil
}

// Get implements [blob.Store].
func (b *blobs) Get(ctx context.Context, digest string) ([]byte, error) {
	var content []byte
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		info, err := b.info(ctx, digest)
		if err == nil {
			content, err = b.chunks(ctx, info)
		}
		return !errors.Is(err, fs.ErrNotExist), err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read stored content: %w", err)
	case blob.Digest(content) != digest:
		return nil, fmt.Errorf("the stored content %s is damaged: %w", digest, fs.ErrInvalid)
	}
	return content, nil
}

// chunks reads the bytes of a content, as many as there are.
func (b *blobs) chunks(ctx context.Context, info *jetstream.ObjectInfo) (content []byte, err error) {
	s, err := b.conn.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	for seq := uint64(1); uint64(len(content)) < info.Size; {
		attempt, cancel := engine.Attempt(context.WithoutCancel(ctx)) // each takes its time
		m, err := s.GetMsg(attempt, seq, jetstream.WithGetMsgSubject(chunkPrefix+info.NUID))
		cancel()
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		content, seq = append(content, m.Data...), m.Sequence+1
	}
	return content, nil
}

// remove removes a content. Its chunks come first: what is cut off in between is still listed, and
// removed the next time.
func (b *blobs) remove(ctx context.Context, digest string) error {
	return engine.Try(ctx, func(ctx context.Context) (bool, error) {
		info, err := b.info(ctx, digest)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		s, err := b.conn.Stream(ctx, stream)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(chunkPrefix+info.NUID))
		}
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(b.meta(digest)))
		}
		return true, err
	})
}
