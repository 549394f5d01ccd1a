package market

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// A repository is where git fetches from.
type repository struct {
	URL string `json:"url"`
	Ref string `json:"ref,omitempty"` // a branch or tag; "" means the default branch
	SHA string `json:"sha,omitempty"` // the commit that it must be; "" means any
	// local repositories may be fetched from this machine's files, because the user has
	// typed a file URL. One that a marketplace names never may.
	local bool
}

var (
	shorthand  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	scpAddress = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9_/~][^:]*$`)
	plainRef   = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_./@+-]*$`)
	commitID   = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// github is the repository of OWNER/NAME.
func github(name string) (string, error) {
	if !shorthand.MatchString(name) {
		return "", fmt.Errorf("%q is not a repository in the form OWNER/NAME", name)
	}
	return "https://github.com/" + strings.TrimSuffix(name, ".git") + ".git", nil
}

// check refuses addresses that make git do anything but fetch from a server.
func (r repository) check() error {
	if r.Ref != "" && (!plainRef.MatchString(r.Ref) || strings.Contains(r.Ref, "..")) {
		return fmt.Errorf("%q is not a valid name of a branch or tag", r.Ref)
	}
	if r.SHA != "" && !commitID.MatchString(r.SHA) {
		return fmt.Errorf("%q is not the full ID of a commit", r.SHA)
	}
	if visible.Name(r.URL) != r.URL || strings.ContainsAny(r.URL, " \\") {
		return fmt.Errorf("%q is not an address of a git repository", r.URL)
	}
	if scpAddress.MatchString(r.URL) {
		return nil
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return fmt.Errorf("%q is not an address of a git repository", r.URL)
	}
	_, password := u.User.Password()
	switch {
	case u.Scheme == "file" && r.local && u.Host == "" && filepath.IsAbs(filepath.FromSlash(u.Path)):
		return nil
	case u.Scheme != "https" && u.Scheme != "ssh":
		return fmt.Errorf("%q cannot be fetched: only https and ssh addresses are supported", r.URL)
	case u.Host == "" || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-"):
		return fmt.Errorf("%q does not name a server", r.URL)
	case password:
		return fmt.Errorf("the address at %s contains a password, which would be saved: use git's credential helper instead", u.Host)
	}
	return nil
}

const (
	cloneTime  = 5 * time.Minute
	cloneBytes = 1 << 30 // with git's own files
	watchPause = 200 * time.Millisecond
)

var errTooMuch = fmt.Errorf("the repository is larger than %d MiB", cloneBytes>>20)

// clone puts the files of a repository into dir, which it makes, without git's own, and
// returns the commit.
func (r repository) clone(ctx context.Context, dir string) (commit string, err error) {
	if err := r.check(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cloneTime, fmt.Errorf("it took longer than %v", cloneTime))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go watch(ctx, dir, stop)
	what := "HEAD"
	if r.SHA != "" {
		what = r.SHA
	} else if r.Ref != "" {
		what = r.Ref
	}
	if _, err = r.git(ctx, "", "init", "--quiet", "--template=", "--", dir); err == nil {
		// This comes before a .gitattributes: no filter of anybody runs.
		if err = os.MkdirAll(filepath.Join(dir, ".git", "info"), 0o700); err == nil {
			err = os.WriteFile(filepath.Join(dir, ".git", "info", "attributes"), []byte("* -filter -text -ident -working-tree-encoding\n"), 0o600)
		}
	}
	for _, args := range [][]string{
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-commit-graph", "--", r.URL, what},
		{"checkout", "--quiet", "--detach", "--no-recurse-submodules", "FETCH_HEAD"},
		{"rev-parse", "--verify", "HEAD"},
	} {
		if err == nil {
			commit, err = r.git(ctx, dir, args...)
		}
	}
	if err != nil {
		return "", fmt.Errorf("could not fetch %s: %w", visible.Name(r.URL), err)
	}
	commit = strings.TrimSpace(commit)
	if r.SHA != "" && commit != r.SHA {
		return "", fmt.Errorf("could not fetch %s: it is at commit %s, but %s was requested", visible.Name(r.URL), commit, r.SHA)
	}
	return commit, os.RemoveAll(filepath.Join(dir, ".git"))
}

// watch stops a clone that grows too large.
func watch(ctx context.Context, dir string, stop context.CancelCauseFunc) {
	for tick := time.NewTicker(watchPause); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		size := int64(0)
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it comes and goes
			}
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
			return nil
		})
		if size > cloneBytes {
			stop(errTooMuch)
		}
	}
}

func (r repository) git(ctx context.Context, dir string, args ...string) (string, error) {
	safe := []string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false",
		"-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}
	git, err := ownprogram.Find("git", dir)
	if err != nil {
		return "", errors.New("git is not installed")
	}
	cmd := exec.CommandContext(ctx, git, append(safe, args...)...)
	cmd.Dir = dir
	cmd.Env = r.environ()
	cmd.WaitDelay = 2 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && complaint.Len() > 0:
		return "", errors.New(visible.Indented(strings.TrimSpace(complaint.String())))
	}
	return out.String(), err
}

// reach are variables by which a user says how servers are reached: keys, certificates and
// git's configuration.
var reach = []string{"SSH_AUTH_SOCK", "GIT_SSH*", "GIT_SSL_CA*", "GIT_CONFIG_*"}

// environ is that of a command, with nothing in it that points git elsewhere.
func (r repository) environ() []string {
	env := slices.DeleteFunc(shellrun.Inherited(os.Environ(), reach), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") && !slices.ContainsFunc(reach, func(name string) bool { return strings.HasPrefix(v, strings.TrimSuffix(name, "*")) })
	})
	allowed := "https:ssh"
	if r.local {
		allowed += ":file"
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL="+allowed, "GIT_LFS_SKIP_SMUDGE=1")
}
