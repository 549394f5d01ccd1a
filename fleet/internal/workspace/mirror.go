package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// A mirror is the copy of a repository that the workspaces on this machine share. Nothing is
// ever removed from it: workspaces have no other copy of its objects.
type mirror struct {
	git
	spec *Spec
}

func mirrorPath(dir string, spec *Spec) string {
	sum := sha256.Sum256([]byte(spec.Repository))
	return filepath.Join(dir, "mirrors", hex.EncodeToString(sum[:8])+".git")
}

// openMirror returns the mirror of a repository, which may be empty. Unlock lets others use it.
func openMirror(ctx context.Context, dir string, spec *Spec) (m *mirror, unlock func(), err error) {
	path := mirrorPath(dir, spec)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, nil, fmt.Errorf("copy the repository: %w", err)
	}
	lock := flock.New(path + ".lock")
	if ok, err := lock.TryLockContext(ctx, lockPause); !ok {
		return nil, nil, fmt.Errorf("wait for another worker to fetch the repository: %w", err)
	}
	m = &mirror{git: git{dir: path, user: true}, spec: spec}
	if _, err := m.run(ctx, nil, "init", "-q", "--bare", path); err != nil {
		lock.Close()
		return nil, nil, fmt.Errorf("copy the repository: %w", err)
	}
	return m, func() { lock.Close() }, nil
}

// resolve returns the commit that the repository has under the ref now, and the branch if it is
// one. It fetches what is missing.
func (m *mirror) resolve(ctx context.Context) (commit, branch string, err error) {
	ref := m.spec.Ref
	if isHash(ref) {
		return ref, "", m.fetch(ctx, ref)
	}
	var names []string
	switch {
	case ref == "" || ref == "HEAD":
		names = []string{"HEAD"}
	case strings.HasPrefix(ref, "refs/"):
		names = []string{ref, ref + "^{}"}
	default:
		names = []string{"refs/heads/" + ref, "refs/tags/" + ref + "^{}", "refs/tags/" + ref}
	}
	out, err := m.text(ctx, append([]string{"ls-remote", "--exit-code", "--symref", "--", m.spec.Repository}, names...)...)
	if code(err) == 2 {
		return "", "", m.missing()
	}
	if err != nil {
		return "", "", m.unreachable(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if to, ok := strings.CutPrefix(hash, "ref: refs/heads/"); ok {
			branch = to
			continue
		}
		found[name] = hash
	}
	for _, name := range names {
		if commit = found[name]; commit == "" {
			continue
		}
		if b, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			branch = b
		}
		if peeled := found[name+"^{}"]; peeled != "" {
			commit = peeled
		}
		return commit, branch, m.fetch(ctx, commit, strings.TrimSuffix(name, "^{}"))
	}
	return "", "", m.missing()
}

func (m *mirror) missing() error {
	if m.spec.Ref == "" {
		return refuse("the default branch of %s does not exist. Name a branch, tag or commit with --ref, and submit the run again", m.spec.Repository)
	}
	return refuse("%s has no branch, tag or commit %q. Push it, then submit the run again", m.spec.Repository, m.spec.Ref)
}

func (m *mirror) unreachable(err error) error {
	return fmt.Errorf("could not fetch %s: %w", m.spec, err)
}

// fetch makes sure that a commit is here. Others are refs to fetch besides the branches and tags.
func (m *mirror) fetch(ctx context.Context, commit string, others ...string) error {
	if m.has(ctx, commit) {
		return nil
	}
	args := []string{"fetch", "-q", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance", "--no-recurse-submodules", "--force"}
	// A branch that is gone may be in the way of a new one, as a/b is of a. Its commits stay: nothing
	// ever collects them.
	_, err := m.run(ctx, nil, append(args, "--prune", "--", m.spec.Repository, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")...)
	if m.has(ctx, commit) {
		return nil // what else went wrong does not matter
	}
	if err != nil {
		return m.unreachable(err)
	}
	args = append(args, "--", m.spec.Repository)
	for i, name := range append(others, commit) { // neither a branch nor a tag has it
		if name == "HEAD" || strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") {
			continue
		}
		if _, err = m.run(ctx, nil, append(args, fmt.Sprintf("+%s:refs/haft/wanted-%d-%s", name, i, commit))...); m.has(ctx, commit) {
			return nil
		}
	}
	return refuse("could not fetch the commit %s from %s: no branch or tag contains it. Push it to any branch, then retry the run (%v)", commit, m.spec.Repository, err)
}

func (m *mirror) has(ctx context.Context, commit string) bool {
	_, err := m.run(ctx, nil, "cat-file", "-e", commit+"^{tree}")
	return err == nil
}

// isHash reports whether a ref is the whole name of a commit.
func isHash(ref string) bool {
	return (len(ref) == 40 || len(ref) == 64) && strings.Trim(ref, "0123456789abcdef") == ""
}
