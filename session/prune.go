package session

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// PruneOptions say what to delete.
type PruneOptions struct {
	// IDs are the sessions to delete. Older also deletes sessions that have not been written
	// to for this long; 0 means none.
	IDs   []string
	Older time.Duration
	// State is the folder where file tools store what they replaced, for all sessions; ""
	// leaves it alone.
	State string
	// DryRun deletes nothing and only reports what would be deleted.
	DryRun bool
}

// Pruned is what was, or would be, deleted.
type Pruned struct {
	Sessions []Info `json:"sessions"`
	Blobs    int    `json:"blobs"`
	Bytes    int64  `json:"bytes"` // of both
	// Skipped are folders whose blobs stay because a session in them is in use.
	Skipped []string `json:"skipped,omitempty"`
}

// collect deletes contents that no session needs, and lists that no crash left.
func (p *Pruned) collect(ctx context.Context, dir string, gone map[string]bool, o *PruneOptions) error {
	projects, err := filepath.Glob(filepath.Join(globEscape(dir), "*"))
	if err != nil {
		return err
	}
	all, busyAnywhere := map[string]bool{}, false
	for _, project := range projects {
		folder := filepath.Join(project, blobFolder)
		_, none := os.Lstat(folder)
		if none == nil {
			// It promises blobs that may go now. A session that relies on it has begun before and is
			// found in use; one that begins later puts each content, which makes it young.
			p.drop(filepath.Join(project, "haft-tree"), o.DryRun)
		}
		wanted, busy, err := p.references(ctx, project, gone, o.DryRun)
		if err != nil {
			return err
		}
		maps.Copy(all, wanted)
		if none != nil {
			busyAnywhere = busyAnywhere || busy
			continue
		}
		if busy {
			busyAnywhere = true
			p.Skipped = append(p.Skipped, project)
			continue
		}
		if err := p.sweep(ctx, folder, wanted, o.DryRun); err != nil {
			return err
		}
	}
	if o.State == "" || busyAnywhere {
		return nil
	}
	return p.sweep(ctx, filepath.Join(o.State, "blobs"), all, o.DryRun)
}

func (p *Pruned) sweep(ctx context.Context, folder string, wanted map[string]bool, dryRun bool) error {
	swept, err := blob.Dir(folder).Sweep(ctx, &blob.SweepOptions{Wanted: func(digest string) bool { return wanted[digest] }, Young: youngBlob, DryRun: dryRun})
	p.Blobs += swept.Blobs
	p.Bytes += swept.Bytes
	return err
}

// drop deletes a file that is no longer needed.
func (p *Pruned) drop(path string, dryRun bool) {
	info, err := os.Lstat(path)
	if err != nil || !dryRun && os.Remove(path) != nil {
		return
	}
	p.Bytes += info.Size()
}

// deleteSession deletes a session's file and folder, unless it is in use.
func deleteSession(ctx context.Context, i *Info, dryRun bool) error {
	held, err := acquire(ctx, dirOf(i.Path), i.ID)
	if err != nil {
		return err
	}
	defer held.release()
	if dryRun {
		return nil
	}
	return errors.Join(os.Remove(i.Path), os.RemoveAll(dirOf(i.Path)))
}

// A younger blob may belong to a line that is being written.
const youngBlob = time.Hour

var digestPattern = lazyregexp.New(`[0-9a-f]{64}`)

// references returns everything in a project's sessions that looks like a digest, and
// whether one of them is in use.
func (p *Pruned) references(ctx context.Context, project string, gone map[string]bool, dryRun bool) (wanted map[string]bool, busy bool, err error) {
	wanted = map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(globEscape(project), "*.jsonl"))
	if err != nil {
		return nil, false, err
	}
	for _, path := range paths {
		if gone[path] {
			continue
		}
		if inUse, err := isInUse(ctx, path); err != nil || inUse {
			return nil, inUse, err
		}
		files, err := filepath.Glob(filepath.Join(globEscape(dirOf(path)), "subagents", "*.jsonl"))
		files = append(files, path)
		// The list of files is for calls that a crash cut off.
		if tree := filepath.Join(dirOf(path), "tree"); hasEntries(filepath.Join(dirOf(path), "open-calls")) {
			files = append(files, tree)
		} else {
			p.drop(tree, dryRun)
		}
		for _, file := range files {
			err = errors.Join(err, digestsIn(file, wanted))
		}
		if err != nil {
			return nil, false, err
		}
	}
	return wanted, false, nil
}

func hasEntries(dir string) bool {
	entries, _ := os.ReadDir(dir) // one that does not exist has none
	return len(entries) > 0
}

// isInUse reports whether a process writes to a session. A session without a folder was
// written by another program, which does not say.
func isInUse(ctx context.Context, path string) (bool, error) {
	if _, err := os.Stat(dirOf(path)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	held, err := acquire(ctx, dirOf(path), idOf(path))
	var inUse *InUseError
	if errors.As(err, &inUse) {
		return true, nil
	}
	return false, errors.Join(err, held.release())
}

// digestsIn adds the digests in a file, which may be large.
func digestsIn(path string, found map[string]bool) error {
	file, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	const digestLength = 64
	buf := make([]byte, 1<<20)
	kept := 0 // of the last piece: a digest may lie across the edge
	for {
		n, err := io.ReadFull(file, buf[kept:])
		for _, m := range digestPattern.FindAll(buf[:kept+n], -1) {
			found[string(m)] = true
		}
		if err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return nil
			}
			return err
		}
		kept = copy(buf, buf[len(buf)-digestLength:])
	}
}
