package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Backup says what a folder has. It is written last: without it, the folder is no backup.
type Backup struct {
	Layout  string            `json:"layout"`
	Began   time.Time         `json:"began"`
	Ended   time.Time         `json:"ended"`
	Streams []string          `json:"streams"`
	Digests map[string]string `json:"sha256"` // of files
	Bytes   int64             `json:"bytes"`
}

const backupFile = "backup.json"

// backedUp are the streams in the order in which they are copied while others write to them. What a journal was seen to
// have is copied before the journals, and contents after the journals that refer to them: so nothing is missed that
// something else in the copy knows of. Tasks are not copied, the server makes them again.
func backedUp() []string {
	list := []string{Audit, Schedules, "KV_" + Questions}
	for _, name := range []func(uint32) string{Sessions, func(n uint32) string { return "KV_" + Runs(n) }, Journals} {
		for n := range uint32(Shards) {
			list = append(list, name(n))
		}
	}
	return append(list, "OBJ_"+Blobs)
}

// Backup copies everything of a tenant into a folder, which must be empty or not exist, while the fleet works.
func (c *Conn) Backup(ctx context.Context, dir string) (*Backup, error) {
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return nil, fmt.Errorf("cannot back up to %s: the folder is not empty", dir)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("could not make the folder for the backup: %w", err)
	}
	b := &Backup{Layout: Layout, Began: time.Now().UTC(), Digests: map[string]string{}}
	for _, name := range backedUp() {
		if err := c.backUpStream(ctx, b, dir, name); err != nil {
			return nil, fmt.Errorf("could not back up the stream %s: %w", name, err)
		}
		b.Streams = append(b.Streams, name)
	}
	b.Ended = time.Now().UTC()
	raw, err := json.MarshalIndent(b, "", "  ")
	if err == nil {
		err = WriteFile(filepath.Join(dir, backupFile), append(raw, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("could not finish the backup: %w", err)
	}
	return b, nil
}

// A snapshot is what the engine says of one, and wants to hear when it is restored.
type snapshot struct {
	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

// chunkTime is how long the engine may take for the next part of a snapshot.
const chunkTime = 30 * time.Second

// An apiReply has the error of a request to the engine.
type apiReply struct {
	Error *jetstream.APIError `json:"error"`
}

// call asks the engine for something that the client library does not offer.
func (c *Conn) call(ctx context.Context, subject string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	m, err := c.NATS.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	var a apiReply
	if len(m.Data) > 0 {
		if err = json.Unmarshal(m.Data, &a); err == nil && a.Error != nil {
			err = a.Error
		}
		if err == nil && into != nil {
			err = json.Unmarshal(m.Data, into)
		}
	}
	return err
}

func (c *Conn) backUpStream(ctx context.Context, b *Backup, dir, name string) (err error) {
	inbox := c.NATS.NewInbox()
	sub, err := c.NATS.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	body, err := json.Marshal(map[string]any{"deliver_subject": inbox, "no_consumers": true, "jsck": true})
	if err != nil {
		return err
	}
	var s snapshot
	if err := c.call(ctx, "$JS.API.STREAM.SNAPSHOT."+name, body, &s); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, name+".snapshot"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	for {
		m, err := nextChunk(ctx, sub)
		if err != nil {
			return err
		}
		if len(m.Data) == 0 {
			if status := m.Header.Get("Status"); status != "" && status != "204" {
				return fmt.Errorf("the snapshot was not finished: %s %s", status, m.Header.Get("Description"))
			}
			break
		}
		n, err := io.MultiWriter(file, sum).Write(m.Data)
		if err == nil && m.Reply != "" {
			err = m.Respond(nil)
		}
		if err != nil {
			return err
		}
		b.Bytes += int64(n)
	}
	if err := file.Sync(); err != nil {
		return err
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	b.Digests[name+".snapshot"], b.Digests[name+".json"] = hex.EncodeToString(sum.Sum(nil)), digestOf(raw)
	return WriteFile(filepath.Join(dir, name+".json"), raw)
}

func nextChunk(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	return sub.NextMsgWithContext(ctx)
}

func digestOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Restore brings back what a backup has. The tenant must have nothing yet: it is a new store that no server uses.
func (c *Conn) Restore(ctx context.Context, dir string) (*Backup, error) {
	raw, err := os.ReadFile(filepath.Join(dir, backupFile))
	b := new(Backup)
	if err == nil {
		err = json.Unmarshal(raw, b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a backup, or one that was not finished: %w", dir, err)
	}
	if b.Layout != Layout {
		return nil, fmt.Errorf("cannot restore the backup: %w", &layoutError{b.Layout})
	}
	for name, want := range b.Digests {
		if got, err := digestOfFile(filepath.Join(dir, name)); err != nil || got != want {
			return nil, fmt.Errorf("cannot restore the backup: %s is damaged or missing (%v)", name, err)
		}
	}
	if _, err := c.JS.Stream(ctx, Tasks); !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, errors.Join(errors.New("cannot restore the backup into a store that has been used. Give a new folder with --store"), err)
	}
	for _, name := range b.Streams {
		if err := c.restoreStream(ctx, dir, name); err != nil {
			return nil, fmt.Errorf("could not restore the stream %s: %w", name, err)
		}
	}
	return b, nil
}

func digestOfFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}

func (c *Conn) restoreStream(ctx context.Context, dir, name string) error {
	body, err := os.ReadFile(filepath.Join(dir, name+".json"))
	if err != nil {
		return err
	}
	var answer struct {
		Deliver string `json:"deliver_subject"`
	}
	if err := c.call(ctx, "$JS.API.STREAM.RESTORE."+name, body, &answer); err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(dir, name+".snapshot"))
	if err != nil {
		return err
	}
	defer file.Close()
	chunk := make([]byte, 128<<10)
	for {
		n, err := io.ReadFull(file, chunk)
		if n > 0 {
			if err := c.call(ctx, answer.Deliver, bytes.Clone(chunk[:n]), nil); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return c.call(ctx, answer.Deliver, nil, nil)
		}
		if err != nil {
			return err
		}
	}
}
