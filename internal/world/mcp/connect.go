package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/mcp/stdio"
)

// shutdownGrace is what a server has between one way of ending it and the next.
const shutdownGrace = 400 * time.Millisecond

// withCause prefers the end of a process to what the library makes of it, and
// tells what else is known.
func withCause(conn *stdio.Conn, noise func() (int, string), err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) {
		select {
		case <-conn.Lost():
		case <-time.After(shutdownGrace):
		}
	}
	select {
	case <-conn.Lost():
		if cause := conn.Cause(); cause != stdio.ErrClosed {
			return cause
		}
	default:
	}
	if count, last := noise(); count > 0 {
		err = fmt.Errorf("%w; it wrote %s to standard output that are not messages, the last: %s", err, plural.Of(count, "line"), last)
	}
	if lines := conn.Stderr(); len(lines) > 0 {
		return fmt.Errorf("%w: %s", err, stdio.Excerpt(lines))
	}
	return err
}

// lookup finds the value of a variable; the last one counts.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// find looks for a program in the server's own PATH.
func find(name, dir, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return exec.LookPath(name)
	}
	for _, in := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(in, name)); err == nil && filepath.IsAbs(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("the command %q was not found in PATH", name)
}

// A processLink is the link to a server process.
type processLink struct{ *stdio.Conn }

func (l processLink) Connect(context.Context) (sdk.Connection, error) { return l.Conn, nil }
