package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// git runs git in a folder and returns what it writes. What it complains about is
// the error.
func git(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	filters, err := ownFilters(ctx, dir)
	if err != nil {
		return "", err
	}
	return runGit(ctx, dir, env, append(filters, args...)...)
}

// runGit runs git with the programs of the repository itself switched off: they
// must not run because a tree is made.
func runGit(ctx context.Context, dir string, env []string, args ...string) (string, error) {
	safe := []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}
	program, err := ownprogram.Find("git", dir)
	if err != nil {
		return "", errNoGit
	}
	cmd := exec.CommandContext(ctx, program, append(safe, args...)...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(environ(), []string{"PATH=" + ownprogram.Path(os.Getenv("PATH"), dir)}, env)
	cmd.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && complaint.Len() > 0:
		return "", fmt.Errorf("git: %s", strings.TrimSpace(complaint.String()))
	case err != nil:
		return "", fmt.Errorf("git: %w", err)
	}
	return out.String(), nil
}

// errNoGit says that there is no git to run.
var errNoGit = errors.New("git is not installed")

// ownFilters are the options that switch off filters which the repository's own
// configuration sets up. Those of the user, such as for large files, stay.
func ownFilters(ctx context.Context, dir string) ([]string, error) {
	if namesNoFilter(dotGit(dir)) {
		return nil, ctx.Err()
	}
	listed, err := runGit(ctx, dir, nil, "config", "--includes", "--show-scope", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil || listed == "" {
		return nil, ctx.Err() // git fails if there is none
	}
	var options []string
	for line := range strings.Lines(listed) {
		scope, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || scope != "local" && scope != "worktree" {
			continue
		}
		filter := name[:strings.LastIndexByte(name, '.')]
		if strings.Contains(filter, "=") {
			return nil, fmt.Errorf("the repository's git configuration has a filter that cannot be turned off: %q", filter)
		}
		options = append(options, "-c", filter+".smudge=", "-c", filter+".clean=", "-c", filter+".process=", "-c", filter+".required=false")
	}
	return options, nil
}

// dotGit returns the .git of the repository that a folder is in; "" if there is none.
func dotGit(dir string) string {
	for {
		path := filepath.Join(dir, ".git")
		if _, err := os.Lstat(path); err == nil {
			return path
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// namesNoFilter reports whether the configuration in a .git folder has neither a filter nor a file that it includes, which
// spares a process. Whatever is unusual is left to git: one that it does not take for a repository makes it look further up.
func namesNoFilter(path string) bool {
	if branchOf(path) == "" {
		return false
	}
	for name, must := range map[string]bool{"config": true, "config.worktree": false, "commondir": false} {
		text, err := regular.Read(filepath.Join(path, name), 1<<20)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !must:
		case err != nil || name == "commondir":
			return false
		default:
			lower := bytes.ToLower(text)
			if bytes.Contains(lower, []byte("filter")) || bytes.Contains(lower, []byte("include")) {
				return false
			}
		}
	}
	return true
}

// branchOf is the branch of a .git folder that git surely takes for a repository, "" if there is anything unusual.
func branchOf(path string) string {
	name := filepath.Join(path, "HEAD")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return "" // of a link git reads the name that it points to
	}
	head, err := regular.Read(name, 4096)
	branch, ok := strings.CutPrefix(string(head), "ref: refs/heads/")
	if err != nil || !ok {
		return ""
	}
	for _, dir := range []string{"objects", "refs"} {
		if _, err := os.Stat(filepath.Join(path, dir) + "/."); err != nil { // which also asks whether it may be entered
			return ""
		}
	}
	return strings.TrimRight(branch, "\n")
}

// environ is what commands inherit of that of this process, keys of providers left
// out, and without what would point git elsewhere.
func environ() []string {
	env := shellrun.Inherited(os.Environ(), nil)
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, "GIT_CONFIG_") || strings.HasPrefix(v, "GIT_SSH") {
			env = append(env, v)
		}
	}
	env = slices.DeleteFunc(env, func(v string) bool {
		return strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "GIT_CONFIG_") && !strings.HasPrefix(v, "GIT_SSH")
	})
	// A missing object must not be fetched by a program that the repository names.
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1")
}
