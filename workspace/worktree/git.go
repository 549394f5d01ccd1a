package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// git runs git in a folder and returns what it writes. What it complains about is
// the error.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	// A repository must not have its own programs run because a tree is made.
	safe := []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir = dir
	cmd.Env = append(environ(), env...)
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed")
	case err != nil && complaint.Len() > 0:
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(complaint.String()))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.String(), nil
}

// environ is that of this process, without what would point git elsewhere.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG_") && !strings.HasPrefix(name, "GIT_SSH")
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
}
