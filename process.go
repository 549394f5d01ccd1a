package haft

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/wire"
)

// ErrNoCLI means that the command line cannot be found, by its name or by the path in
// Options.CLI or HAFT_CLI.
var ErrNoCLI = errors.New("could not find haft: set Options.CLI or HAFT_CLI, or add haft to PATH")

// A missingCLI says why the command line that was named cannot be used.
type missingCLI struct{ error }

func (e missingCLI) Error() string        { return "find command line: " + e.error.Error() }
func (e missingCLI) Unwrap() error        { return e.error }
func (e missingCLI) Is(target error) bool { return target == ErrNoCLI }

// process is the Transport that starts the command line.
type process struct {
	cli   string // "" means to look for it
	grace time.Duration
}

// command returns the command line with its flags, not started.
func (p process) command(args []string) (*exec.Cmd, error) {
	cli, err := p.find()
	if err != nil {
		return nil, err
	}
	switch filepath.Ext(cli) {
	case ".js", ".mjs", ".cjs":
		if _, err := os.Stat(cli); err != nil {
			return nil, missingCLI{err}
		}
		return exec.Command("node", append([]string{cli}, args...)...), nil
	}
	path, err := exec.LookPath(cli)
	if err != nil {
		return nil, missingCLI{err}
	}
	return exec.Command(path, args...), nil
}

// find returns the command line. A path is made absolute, because the process starts in
// another directory.
func (p process) find() (string, error) {
	cli := p.cli
	if cli == "" {
		cli = os.Getenv("HAFT_CLI")
	}
	if cli == "" {
		path, err := exec.LookPath("haft")
		if err != nil {
			return "", ErrNoCLI
		}
		cli = path
	}
	if filepath.Base(cli) == cli {
		return cli, nil
	}
	return filepath.Abs(cli)
}

// Start starts the command line.
func (p process) Start(ctx context.Context, l *Launch) (Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd, err := p.command(l.Args)
	if err != nil {
		return nil, err
	}
	var pipes pipes
	if err := pipes.open(); err != nil {
		pipes.closeAll()
		return nil, fmt.Errorf("start haft: %w", err)
	}
	cmd.Env, cmd.Dir = l.Env, l.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes.theirs[0], pipes.theirs[1], pipes.theirs[2]
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		pipes.closeAll()
		return nil, fmt.Errorf("start haft: %w", err)
	}
	pipes.closeTheirs()
	c := &child{cmd: cmd, grace: p.grace, stdin: pipes.ours[0], exited: make(chan struct{})}
	c.stdout = &outlet{file: pipes.ours[1]}
	stderr := &outlet{file: pipes.ours[2]}
	c.Stream = wire.Lines(wire.NewReader(c.stdout), wire.NewWriter(c.stdin))
	c.readers.Go(func() { c.tail.read(stderr, l.Stderr); stderr.file.Close() })
	go c.reap(stderr)
	return c, nil
}

// pipes are the three streams, our ends and theirs.
type pipes struct{ ours, theirs [3]*os.File }

func (p *pipes) open() error {
	for i := range p.ours {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		p.ours[i], p.theirs[i] = r, w
		if i == 0 {
			p.ours[i], p.theirs[i] = w, r
		}
	}
	return nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close()
	}
}

func (p *pipes) closeAll() {
	p.closeTheirs() // closing a nil file only fails
	for _, f := range p.ours {
		f.Close()
	}
}
