// Package embed runs conversations inside your program: with the API and the messages
// of package haft, but without a second process.
//
//	opts := &haft.Options{Transport: embed.New(nil), Dir: "/project"}
//	for m, err := range haft.Query(ctx, "What is here?", opts) { … }
//
// Everything else works as with the command line: flags, settings, sessions, permissions
// and tools. The differences come from sharing a process. Environment variables are those
// of this program, so Options.Env cannot be set. Shell commands have a supervisor only if
// the program provides one; see [Options].
//
// A transport is safe for concurrent use; conversations are independent of each other. Closing
// a conversation stops everything that it started. The number of conversations at once is
// limited by how many files the process may open; further ones start when others end.
package embed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// Options are what an embedding program can provide. Nil means all zero values.
type Options struct {
	// Model answers; nil means the one that the environment describes.
	Model model.Model
	// Reexec starts the supervisor of shell commands, which stops them even if this process
	// is killed: what [Supervise] returned at the start of main. The zero value means none.
	Reexec Reexec
	// Version is that of the embedding program; "" means haft's.
	Version string
	// Tools are tools of this program that every conversation has in addition to haft's. They go
	// through the same pipeline: rules, questions, previews, checkpoints and the journal treat
	// them by what they say about a call. Their names must differ from those of haft's tools.
	Tools []tool.Tool
}

// A Reexec is the proof that main calls [Supervise] first.
type Reexec struct{ of shellrun.Reexec }

// Supervise must be called at the very start of main. The supervisor of shell commands is this
// program, started once more: in that process Supervise does not return.
func Supervise() Reexec { return Reexec{shellrun.Supervise()} }

// New returns a transport that runs conversations in this process.
func New(o *Options) haft.Transport {
	t := new(transport)
	if o != nil {
		t.opts = *o
	}
	return t
}

type transport struct{ opts Options }

// Start begins a conversation.
func (t *transport) Start(starting context.Context, l *haft.Launch) (haft.Link, error) {
	if foreign(l.Env) {
		return nil, errors.New("embed: conversations share this program's environment; set variables there instead of in Options.Env")
	}
	if err := checkTools(t.opts.Tools); err != nil {
		return nil, err
	}
	log := &lines{tell: l.Stderr}
	opts, err := launch.Parse(l.Args, t.opts.Version, log)
	if err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	opts.Log, opts.Harness.Dir, opts.Harness.Reexec, opts.Talk.Client = log, l.Dir, t.opts.Reexec.of, t.opts.Model
	opts.Harness.Embedded = t.opts.Tools
	opts.States, opts.Talk.Watch = true, live.Open(t.opts.Version)
	if err := slots().acquire(starting, patience); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ours, theirs := wire.Pipe()
	c := &conversation{PipeEnd: theirs, cancel: cancel, log: log, done: make(chan struct{})}
	go c.serve(ctx, ours, opts)
	return c, nil
}

// checkTools finds tools that are wrongly built, and names that are taken.
func checkTools(tools []tool.Tool) error {
	taken := make(map[string]string)
	for _, name := range builtin.Names() {
		taken[name] = "haft has a tool of that name"
	}
	for _, t := range tools {
		if err := t.Check(); err != nil {
			return fmt.Errorf("embed: the tool %q is wrongly built: %w", t.Name, err)
		}
		for _, name := range append(slices.Clone(t.Aliases), t.Name) {
			if why := taken[name]; why != "" {
				return fmt.Errorf("embed: the tool %q cannot be named %q: %s", t.Name, name, why)
			}
			taken[name] = "another tool has that name"
		}
	}
	return nil
}

// foreign reports whether an environment differs from this process's. What the SDK adds for
// the command line is ignored.
func foreign(env []string) bool {
	own := os.Environ()
	for _, v := range env {
		if !slices.Contains(own, v) && !bytes.HasPrefix([]byte(v), []byte("CLAUDE_")) && !bytes.HasPrefix([]byte(v), []byte("HAFT_")) {
			return true
		}
	}
	return false
}

// A conversation is the link to one that is led here.
type conversation struct {
	*wire.PipeEnd
	cancel context.CancelFunc
	log    *lines
	done   chan struct{} // closed when it has ended
	code   int           // set before
}

func (c *conversation) serve(ctx context.Context, ours *wire.PipeEnd, opts *headless.Options) {
	defer close(c.done)
	defer slots().release()
	defer ours.CloseWrite()
	c.code = headless.Serve(ctx, ours, opts)
}

// Wait waits until the conversation has ended by itself.
func (c *conversation) Wait() error {
	<-c.done
	if c.code == 0 {
		return nil
	}
	return &haft.ExitError{Code: c.code, Status: fmt.Sprintf("exit status %d", c.code), Stderr: c.log.tail()}
}

// Close ends the conversation and waits for what it has started to end.
func (c *conversation) Close() error {
	c.cancel()
	err := c.PipeEnd.Close()
	<-c.done
	return err
}

// lines passes on what is written line by line, and keeps the end of it.
type lines struct {
	tell func(string)

	mu   sync.Mutex
	part []byte
	kept []byte
}

const keptBytes = 4096

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	l.kept = l.kept[max(0, len(l.kept)-keptBytes):]
	l.part = append(l.part, p...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if l.tell != nil {
			l.tell(string(line))
		}
		l.part = rest
	}
}

func (l *lines) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.kept)
}

var _ io.Writer = (*lines)(nil)
