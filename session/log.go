package session

import (
	"context"
	"errors"
	"iter"

	"github.com/haftdev/haft/internal/workspace/blob"
)

// A Log is the lines of one conversation of a session. It only grows, and only by a
// writer that knows where it ends: that is the fence against a writer that was taken
// for dead. Files on one machine are the default; see [Open] and [OpenLogs].
//
// Implementations are safe for concurrent use.
type Log interface {
	// Append adds whole lines if nothing was added since after, and returns where the
	// log ends now. The error is [ErrFenced] if another writer was faster. After any
	// other error the lines may be there in part: then the position that is returned is
	// not after, and the caller continues from it with a new line.
	Append(ctx context.Context, after Pos, lines []byte) (Pos, error)
	// Sync returns when a power cut cannot lose what was appended any more.
	Sync(ctx context.Context) error
	// Back returns the log in pieces, the newest first. A piece may begin and end in the
	// middle of a line. After an error nothing more comes.
	Back(ctx context.Context) iter.Seq2[[]byte, error]
	// Close gives back what the log holds. A later Append takes it again.
	Close() error
}

// Logs are where sessions are kept that are not files.
type Logs interface {
	// Open returns the log of an agent's conversation, "" being the main one, and where
	// it ends; the zero position means that nothing was written.
	Open(ctx context.Context, session, agent string) (Log, Pos, error)
	// Blobs keeps contents that lines refer to by digest. What was put there outlives a
	// power cut.
	Blobs() blob.Store
}

// A Pos is a place in a log. The session passes it on and does not look at it.
type Pos struct {
	// Seq counts up; in a file it is the size.
	Seq uint64
	// Tip is the hash of everything up to here, where a log is chained.
	Tip [16]byte
}

// ErrFenced is what writing fails with once another writer has continued the session:
// a process that gets it must not act for the session any more.
var ErrFenced = errors.New("another process has continued the session")
