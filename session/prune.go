package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/haftdev/haft/internal/regular"
)

// PruneOptions say what is deleted.
type PruneOptions struct {
	// IDs are the sessions to delete. Older deletes those that nobody has written to
	// for so long; 0 means none.
	IDs   []string
	Older time.Duration
	// DryRun only tells.
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

// Prune deletes sessions, and the blobs that no session refers to any more. It is
// the only thing that ever deletes anything, and nobody calls it but on request.
func (st *Store) Prune(ctx context.Context, opts *PruneOptions) (*Pruned, error) {
	var o PruneOptions
	if opts != nil {
		o = *opts
	}
	p := &Pruned{Sessions: []Info{}}
	doomed, err := st.doomed(&o)
	if err != nil {
		return nil, fmt.Errorf("prune sessions: %w", err)
	}
	gone := map[string]bool{}
	for _, i := range doomed {
		if err := deleteSession(ctx, &i, o.DryRun); err != nil {
			return p, fmt.Errorf("prune sessions: %w", err)
		}
		gone[i.Path] = true
		p.Sessions = append(p.Sessions, i)
		p.Bytes += i.Size
	}
	folders, err := filepath.Glob(filepath.Join(globEscape(st.dir), "*", blobFolder))
	if err != nil {
		return p, fmt.Errorf("prune sessions: %w", err)
	}
	for _, folder := range folders {
		if err := p.sweep(ctx, folder, gone, o.DryRun); err != nil {
			return p, fmt.Errorf("prune blobs: %w", err)
		}
	}
	return p, nil
}

// doomed returns the sessions that are to go.
func (st *Store) doomed(o *PruneOptions) ([]Info, error) {
	var out []Info
	for _, id := range o.IDs {
		i, err := st.Info(id)
		if err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	if o.Older <= 0 {
		return out, nil
	}
	all, err := st.List(nil)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if time.Since(i.Modified) > o.Older {
			out = append(out, i)
		}
	}
	return out, nil
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

// A blob that is younger may belong to a line that is just being written.
const youngBlob = time.Hour

// sweep deletes the blobs of a project that no session of it refers to.
func (p *Pruned) sweep(ctx context.Context, folder string, gone map[string]bool, dryRun bool) error {
	project := filepath.Dir(folder)
	wanted, busy, err := references(ctx, project, gone)
	if err != nil {
		return err
	}
	if busy {
		p.Skipped = append(p.Skipped, project)
		return nil
	}
	if !dryRun {
		os.Remove(filepath.Join(project, "haft-tree")) // it promises blobs that may go now
	}
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		info, err := e.Info()
		if err != nil || wanted[filepath.Base(filepath.Dir(path))+e.Name()] || time.Since(info.ModTime()) < youngBlob {
			return err
		}
		p.Blobs++
		p.Bytes += info.Size()
		if dryRun {
			return nil
		}
		return os.Remove(path)
	})
}

var digestPattern = regexp.MustCompile(`[0-9a-f]{64}`)

// references returns everything in a project's sessions that looks like a digest,
// and whether one of them is in use.
func references(ctx context.Context, project string, gone map[string]bool) (wanted map[string]bool, busy bool, err error) {
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
		files = append(files, path, filepath.Join(dirOf(path), "tree"))
		for _, file := range files {
			err = errors.Join(err, digestsIn(file, wanted))
		}
		if err != nil {
			return nil, false, err
		}
	}
	return wanted, false, nil
}

// isInUse reports whether somebody writes to a session. One without a folder was
// written by others, who do not say.
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
