package checkpoint

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

// compare notes what a call has changed since a look.
func (k *Keeper) compare(ctx context.Context, before *tree, call string) error {
	now, err := k.scan(ctx, nil)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("changes by call %s are not covered: %v", call, err))
	}
	entries, err := k.entries(ctx, before.diff(now), call)
	if err != nil {
		return k.note(ctx, fmt.Sprintf("changes by call %s are not covered: %v", call, err))
	}
	if err := k.session.Append(ctx, entries...); err != nil {
		return err
	}
	k.done(call)
	return nil
}

// entries returns changes as they are written to the journal. Contents that only git
// has are kept now: of the few files that changed, not of all that might have.
func (k *Keeper) entries(ctx context.Context, changes []change, call string) ([]session.Entry, error) {
	had, err := k.fromGit(ctx, changes)
	if err != nil {
		return nil, err
	}
	var entries []session.Entry
	var lost missed
	for _, c := range changes {
		full := filepath.Join(k.root, filepath.FromSlash(c.path))
		old, now := c.old.file(), c.now.file()
		if c.old != nil && c.old.Git != "" {
			old.Digest = had[c.old.Git]
		}
		if c.now != nil && c.now.Git != "" {
			found, _, err := lookAt(full)
			if err != nil {
				continue // it changes under us
			}
			now.Digest = found.Digest
		}
		if c.old != nil && c.old.Git != "" && old.Digest == "" {
			if lost.Count++; lost.Count == 1 {
				lost.First = c.path
			}
			continue
		}
		if old == now {
			continue
		}
		cp := checkpointOf(call, full, old, now)
		entries = append(entries, session.Entry{Checkpoint: &cp})
	}
	if lost.Count > 0 {
		return entries, k.note(ctx, fmt.Sprintf("%s changed and cannot be restored: its git objects are gone", lost.text()))
	}
	return entries, nil
}

// fromGit keeps the contents of changed files that git has, and returns their digests
// by object.
func (k *Keeper) fromGit(ctx context.Context, changes []change) (map[string]string, error) {
	had := map[string]string{}
	var names []string
	for _, c := range changes {
		if c.old == nil || c.old.Git == "" {
			continue
		}
		if _, ok := had[c.old.Git]; !ok {
			had[c.old.Git] = ""
			names = append(names, c.old.Git)
		}
	}
	if k.repo == nil || len(names) == 0 {
		return had, nil
	}
	keep, done, err := k.putter(ctx, len(names))
	if err != nil {
		return nil, err
	}
	err = k.repo.objects(ctx, names, k.opts.MaxFileSize, func(name string, content []byte) error {
		digest := blob.Digest(content)
		if err := keep(digest, content); err != nil {
			return err
		}
		had[name] = digest
		return nil
	})
	if failed := done(err == nil); failed != nil {
		return nil, failed
	}
	if err != nil { // git is not there, or its folder is gone
		clear(had)
	}
	return had, nil
}

// packFrom is the number of contents from which they are kept in one file.
const packFrom = 32

// putter returns how to keep many contents, and what to call at the end.
func (k *Keeper) putter(ctx context.Context, count int) (put func(digest string, b []byte) error, done func(ok bool) error, err error) {
	store, ok := k.opts.Blobs.(interface{ NewPack() (*blob.Pack, error) })
	single := func(digest string, b []byte) error { return k.opts.Blobs.Put(ctx, digest, b) }
	if !ok || count < packFrom {
		return single, func(bool) error { return nil }, nil
	}
	pack, err := store.NewPack()
	if err != nil {
		return nil, nil, err
	}
	put = func(digest string, b []byte) error {
		if len(b) > blob.Small {
			return single(digest, b)
		}
		return pack.Add(digest, b)
	}
	return put, func(ok bool) error {
		if !ok {
			pack.Discard()
			return nil
		}
		return pack.Close()
	}, nil
}
