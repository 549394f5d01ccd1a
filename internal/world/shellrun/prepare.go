package shellrun

import (
	"os"
	"path/filepath"
)

// scratchPrefix begins the names of directories that may be removed when their
// host is gone.
const scratchPrefix = "haft-run-"

// A hostShell is what all commands are run with.
type hostShell struct {
	path    string // of bash
	profile string // the file with the user's functions and aliases, "" for none
	env     []string
	scratch string // a directory for files that commands need while they run
	warning error  // why there is no profile
}

// endsIn is where commands say in which directory they ended. It is apart from
// what else is in the scratch directory, which confined commands cannot write.
func endsIn(scratch string) string { return filepath.Join(scratch, "ended") }

// A preparation is the making of a hostShell. It continues when a command that
// waits for it is cancelled, since the next one needs it too.
type preparation struct {
	done  chan struct{}
	shell *hostShell
	err   error
}

// over reports whether the preparation is done and of no use: it went wrong, or
// someone has cleaned up the temporary directory since.
func (p *preparation) over() bool {
	return p.ended() && (p.err != nil || !isDir(p.shell.scratch))
}

func (p *preparation) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *preparation) discard() error {
	if p.shell == nil {
		return nil
	}
	return os.RemoveAll(p.shell.scratch)
}
