package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/mcp/gate"
	"github.com/haftdev/haft/internal/world/mcp/stdio"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func (p *peer) newGate() *gate.Gate {
	watch := p.host.opts.OnMessage
	if watch == nil {
		return gate.New(nil)
	}
	return gate.New(func(sent bool, message []byte) { watch(p.name, sent, message) })
}

// connectStdio starts the process, and once more if the question for its era
// killed it, or if it knows the newer era only and was slow to say so.
func (p *peer) connectStdio(ctx context.Context) (*session, error) {
	protocol, patience := p.cachedProtocol(), p.host.opts.ProbeTimeout
	s, err := p.startProcess(ctx, protocol, patience)
	var refused *jsonrpc.Error
	if protocol != "" && errors.As(err, &refused) && ctx.Err() == nil {
		p.step("the server no longer uses its earlier protocol version; asking it")
		p.host.cache.forget(p.cfg)
		s.close()
		protocol = ""
		s, err = p.startProcess(ctx, protocol, patience)
	}
	if err == nil || s == nil || protocol != "" || ctx.Err() != nil {
		return s, err
	}
	var exited *stdio.ExitError
	switch conn := s.link.(processLink); {
	case errors.As(err, &exited):
		p.step("the server exited when asked for its protocol version; restarting it")
		protocol = legacyProtocol
	case conn.Silent():
		p.step("the server may have been slow to report its protocol version; asking again")
		patience = p.startTimeout()
	default:
		return s, err
	}
	s.close()
	return p.startProcess(ctx, protocol, patience)
}

func (p *peer) startProcess(ctx context.Context, protocol string, patience time.Duration) (*session, error) {
	cmd, err := p.command()
	if err != nil {
		return nil, err
	}
	opts := &p.host.opts
	g := p.newGate()
	conn, err := stdio.Start(stdio.Options{
		Runner: opts.Runner, Gate: g, Max: opts.MaxMessage, Probe: patience,
		Grace: shutdownGrace, Command: cmd,
	})
	if err != nil {
		return nil, err
	}
	confined := ""
	if cmd.Box != nil {
		confined = ", which can only write in its own folder"
	}
	p.step("started %s as process %d%s", p.cfg.Command, conn.PID(), confined)
	s := newSession(p, processLink{conn}, g)
	go func() {
		if cause := conn.Cause(); cause != stdio.ErrClosed { // the library has a better reason for that
			s.lose(cause)
		}
	}()
	if err = s.open(ctx, protocol); err != nil {
		err = withCause(conn, g.Skipped, err)
		p.step("no session: %v", err)
		return s, err
	}
	p.opened(s)
	return s, nil
}

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

// opened notes what was agreed on.
func (p *peer) opened(s *session) {
	protocol := s.wire.InitializeResult().ProtocolVersion
	p.step("connected, protocol %s", protocol)
	p.host.cache.setProtocol(p.cfg, protocol)
}

// cachedProtocol is what to open a session with: empty asks the server.
func (p *peer) cachedProtocol() string {
	if known := p.host.cache.protocol(p.cfg); known != "" && known < modernProtocol {
		p.step("using protocol version %s, as before", known)
		return legacyProtocol
	}
	return ""
}

// command finds the program and makes its environment.
func (p *peer) command() (shellrun.Command, error) {
	opts := &p.host.opts
	dir := p.cfg.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(opts.Dir, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return shellrun.Command{}, fmt.Errorf("the folder %s does not exist", dir)
	}
	if strings.TrimSpace(p.cfg.Command) == "" {
		return shellrun.Command{}, errors.New("the entry has no command")
	}
	env := childEnv(opts.Environ, p.cfg.Env)
	path, err := find(p.cfg.Command, dir, lookup(env, "PATH"))
	if err != nil {
		return shellrun.Command{}, err
	}
	c := shellrun.Command{Path: path, Args: append([]string{p.cfg.Command}, p.cfg.Args...), Env: env, Dir: dir}
	if opts.Box != nil {
		c.Box = opts.Box(p.cfg)
	}
	return c, nil
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
