package live

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/wire"
)

// ErrNotRunning is the error of a session that no process leads, or none that can be
// watched.
var ErrNotRunning = errors.New("the session is not running")

// A Conn is the observer's end of a channel.
type Conn struct {
	wire.Stream
	conn net.Conn
	// PID is that of the process that leads the session.
	PID int
}

// Dial connects to the session whose journal is at path. The error is ErrNotRunning if
// nobody is there.
func Dial(ctx context.Context, path string) (*Conn, error) {
	a, ok := readAddress(path)
	if !ok {
		return nil, ErrNotRunning
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", a.Socket)
	if err != nil {
		return nil, ErrNotRunning
	}
	if err := allowed(conn); err != nil { // the socket may be another user's by now
		conn.Close()
		return nil, err
	}
	return &Conn{wire.Lines(wire.NewReader(conn), wire.NewWriter(conn)), conn, a.PID}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// Running returns the process that leads the session whose journal is at path and can be
// watched; ok is false if there is none.
func Running(path string) (pid int, ok bool) {
	a, ok := readAddress(path)
	if !ok || !alive(a.PID) {
		return 0, false
	}
	return a.PID, true
}

// readAddress reads where the socket of a session is, or was: the file stays when a
// process is killed.
func readAddress(path string) (a address, ok bool) {
	raw, err := regular.Read(filepath.Join(strings.TrimSuffix(path, ".jsonl"), noticeName), 4096)
	return a, err == nil && json.Unmarshal(raw, &a) == nil && filepath.IsAbs(a.Socket)
}
