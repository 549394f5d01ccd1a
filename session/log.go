package session

import (
	"context"
	"errors"
	"iter"
)

// A Log holds the lines of one conversation of a session. It only grows, and only a writer
// that knows where it ends can append to it. This fences off a writer that was taken for dead.
// Files on one machine are the default; see [Open] and [OpenLogs].
//
// Implementations are safe for concurrent use.
type Log interface {
	// Append adds whole lines if nothing was added since after, and returns where the log
	// ends now. The error is [ErrFenced] if another writer was faster. After any other
	// error, some of the lines may have been written: then the returned position is not
	// after, and the caller continues from it with a new line.
	Append(ctx context.Context, after Pos, lines []byte) (Pos, error)
	// Sync returns when everything that was appended would survive a power cut.
	Sync(ctx context.Context) error
	// Back returns the log in pieces, newest first. A piece may begin and end in the middle
	// of a line. After an error there are no more pieces.
	Back(ctx context.Context) iter.Seq2[[]byte, error]
	// Close releases the resources of the log. A later Append acquires them again.
	Close() error
}

// Logs store sessions that are not in files.
type Logs interface {
	// Open returns the log of an agent's conversation, "" being the main one, and where it
	// ends; the zero position means that nothing was written.
	Open(ctx context.Context, session, agent string) (Log, Pos, error)
	// Blobs stores contents that lines refer to by digest. They survive a power cut.
	Blobs() Blobs
}

// A Pos is a position in a log. The session passes it on without looking at it.
type Pos struct {
	// Seq increases; for a file, it is the size.
	Seq uint64
	// Tip is the hash of everything up to here, if the log is chained.
	Tip [16]byte
}

// ErrFenced is the error of a write after another writer has continued the session. A process
// that gets it must no longer act for the session.
var ErrFenced = errors.New("another process has continued the session")

// Blobs are the contents that are too large for a journal's line, by their digests.
type Blobs interface {
	// Put keeps b under its digest, the SHA-256 in hexadecimal, which the caller has at hand.
	Put(ctx context.Context, digest string, b []byte) error
	// Get returns a content, or an error that is fs.ErrNotExist.
	Get(ctx context.Context, digest string) ([]byte, error)
}
