package checkpoint

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// named keeps the files that a call says it will write, as far as the look at the tree
// does not cover them: what an ignored folder holds, or everything in a tree that is
// too large. Tools that tell of each change themselves need none of it.
func (k *Keeper) named(ctx context.Context, c *tool.Call, paths []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opts.Blobs == nil || slices.Contains(k.opts.FileTools, c.Tool) {
		return nil
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(k.root, path)
		}
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		if looked := k.before[c.ID]; looked != nil && looked.covers(k.root, path) {
			continue
		}
		if k.isSecret(path) {
			if err := k.note(ctx, path+" is not covered: secrets are never copied"); err != nil {
				return err
			}
			continue
		}
		if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Size() > k.opts.MaxFileSize) {
			if err := k.note(ctx, fmt.Sprintf("what %s changes in %s is not covered: it is a folder or too large", c.Tool, path)); err != nil {
				return err
			}
			continue
		}
		was, content, err := lookAt(path)
		if err == nil && was.Digest != "" {
			err = k.opts.Blobs.Put(ctx, was.Digest, content)
		}
		if err != nil {
			if err := k.note(ctx, fmt.Sprintf("what %s changes in %s is not covered: %v", c.Tool, path, err)); err != nil {
				return err
			}
			continue
		}
		if k.will[c.ID] == nil {
			k.will[c.ID] = map[string]File{}
		}
		k.will[c.ID][path] = was
	}
	return nil
}

// namedNow notes what became of the files that a call named.
func (k *Keeper) namedNow(ctx context.Context, call string) error {
	var entries []session.Entry
	for path, was := range k.will[call] {
		now, _, err := lookAt(path)
		if err != nil || now.sameContent(was) {
			continue
		}
		cp := checkpointOf(call, path, was, now)
		entries = append(entries, session.Entry{Checkpoint: &cp})
	}
	delete(k.will, call)
	return k.session.Append(ctx, entries...)
}

// Restores reports whether a rewind restores what is at these paths now, with all that is
// in the folders among them, if the next call changes or deletes it.
func (k *Keeper) Restores(ctx context.Context, paths []string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opts.Blobs == nil {
		return false
	}
	t, err := k.scan(ctx, paths)
	if err != nil || t.Off != "" {
		return false
	}
	return !slices.ContainsFunc(paths, func(path string) bool { return !t.restores(k.root, path) })
}
