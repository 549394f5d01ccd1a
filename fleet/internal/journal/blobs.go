package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

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

// Put implements [blob.Store].
func (b *blobs) Put(ctx context.Context, digest string, content []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		store, err := b.conn.Objects(ctx)
		if err != nil {
			return true, err
		}
		if info, err := store.GetInfo(ctx, b.name(digest)); err == nil && info.Size == uint64(len(content)) {
			return false, nil
		}
		meta := jetstream.ObjectMeta{Name: b.name(digest)}
		if b.run != "" {
			meta.Metadata = map[string]string{runKey: b.run}
		}
		_, err = store.Put(ctx, meta, bytes.NewReader(content))
		return true, err
	})
	if err != nil {
		return fmt.Errorf("store content: %w", err)
	}
	return nil
}

// Get implements [blob.Store].
func (b *blobs) Get(ctx context.Context, digest string) ([]byte, error) {
	var content []byte
	err := engine.Try(ctx, func(ctx context.Context) (bool, error) {
		store, err := b.conn.Objects(ctx)
		if err != nil {
			return true, err
		}
		content, err = store.GetBytes(ctx, b.name(digest))
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return false, fs.ErrNotExist
		}
		return true, err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read stored content: %w", err)
	case blob.Digest(content) != digest:
		return nil, fmt.Errorf("the stored content %s is damaged: %w", digest, fs.ErrInvalid)
	}
	return content, nil
}

// remove removes a content. Its chunks come first: what is cut off in between is still listed, and
// removed the next time.
func (b *blobs) remove(ctx context.Context, digest string) error {
	return engine.Try(ctx, func(ctx context.Context) (bool, error) {
		store, err := b.conn.Objects(ctx)
		if err != nil {
			return true, err
		}
		info, err := store.GetInfo(ctx, b.name(digest))
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		if err := b.removeChunks(ctx, info); err != nil {
			return true, err
		}
		err = store.Delete(ctx, b.name(digest))
		return true, err
	})
}

// removeChunks removes the bytes of a content, but not its name.
func (b *blobs) removeChunks(ctx context.Context, info *jetstream.ObjectInfo) error {
	if !engine.Word(info.NUID) {
		return fmt.Errorf("the stored content %s has the invalid id %q", info.Name, info.NUID)
	}
	s, err := b.conn.Stream(ctx, "OBJ_"+engine.Blobs)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject("$O."+engine.Blobs+".C."+info.NUID))
}
