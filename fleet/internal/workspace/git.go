package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/processgroup"
	"github.com/haftdev/haft/internal/text/visible"
)

const (
	// remoteTime is how long one call of git may take that asks another machine: a large repository
	// comes over a slow line.
	remoteTime = 20 * time.Minute
	// localTime is how long any other may take: what a command left in the folder may keep git waiting.
	localTime = 5 * time.Minute
)

// A git runs git in one of our own repositories.
type git struct {
	dir string // the repository
	// user says that the settings of the worker's user count, which have the credentials.
	user bool
	work string // the folder that it works on; "" means none
	env  []string
}

// run runs git and returns what it printed.
func (g git) run(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.stream(ctx, stdin, &out, args...)
	return out.Bytes(), err
}

// text is run for one line.
func (g git) text(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, nil, args...)
	return strings.TrimSpace(string(out)), err
}

// stream runs git with its output going to out.
func (g git) stream(ctx context.Context, stdin io.Reader, out io.Writer, args ...string) error {
	most := localTime
	if g.user {
		most = remoteTime
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := g.command(ctx, args...)
	var said tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, &said
	err := cmd.Run()
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("git is not installed on the worker's machine")
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	text := said.text()
	if !errors.As(err, &exit) || text == "" {
		text = strings.TrimSpace(err.Error() + ": " + text)
	}
	return &gitError{act: args[0], text: strings.TrimSuffix(text, ": "), err: err}
}

// command is git with a known configuration: what runs in a workspace can change neither the
// settings nor the hooks that count here.
func (g git) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "protocol.ext.allow=never"}, args...)...)
	processgroup.Own(cmd) // git has children, which wait for what it waits for
	cmd.WaitDelay, cmd.Dir = 5*time.Second, cmp.Or(g.work, g.dir)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GIT_") || g.user && name == "GIT_SSH_COMMAND" {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_OPTIONAL_LOCKS=0", "GIT_LFS_SKIP_SMUDGE=1",
		"GIT_ALLOW_PROTOCOL=file:https:ssh", "GIT_NO_LAZY_FETCH=1", "GIT_DIR="+g.dir)
	if !g.user {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1")
	} else if os.Getenv("GIT_SSH_COMMAND") == "" {
		cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	}
	if g.work != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+g.work)
	}
	cmd.Env = append(cmd.Env, g.env...)
	return cmd
}

// on is g that works on a folder, with more variables.
func (g git) on(folder string, env ...string) git {
	g.work, g.env = folder, append(slices.Clone(g.env), env...)
	return g
}

// A gitError is what git said.
type gitError struct {
	act, text string
	err       error
}

func (e *gitError) Error() string { return fmt.Sprintf("git %s: %s", e.act, e.text) }
func (e *gitError) Unwrap() error { return e.err }

// code is the exit code of git, -1 if it has none.
func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// tail keeps the last that a program said.
type tail struct{ bytes.Buffer }

const tailMost = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	t.Buffer.Write(p)
	if extra := t.Len() - tailMost; extra > 0 {
		t.Next(extra)
	}
	return n, nil
}

// text is what a user reads of it: without the prefixes of git, on one line.
func (t *tail) text() string {
	var lines []string
	for line := range strings.Lines(t.String()) {
		line = visible.Name(strings.TrimSpace(strings.ToValidUTF8(line, "?"))) // a server may say anything
		for _, prefix := range []string{"fatal: ", "error: ", "remote: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line != "" && !strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-4):], "; ")
}
