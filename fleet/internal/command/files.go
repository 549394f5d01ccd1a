package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/workspace"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

// newFiles gets the files of a run.
func newFiles(out io.Writer) *cobra.Command {
	var to string
	var asJSON bool
	cmd := runsCommand("files", "Get the files of a run that works on a git repository", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
		p, err := getFiles(ctx, conn, tenant, args[0], to)
		if err != nil {
			return fmt.Errorf("could not get the files of run %s: %w", args[0], err)
		}
		if asJSON {
			return json.NewEncoder(out).Encode(p)
		}
		fmt.Fprintln(out, p.Path)
		for _, left := range p.Left {
			fmt.Fprintf(os.Stderr, "not stored: %s\n", visible.Name(left))
		}
		return nil
	})
	cmd.Flags().StringVar(&to, "to", "", "folder to create: a clone of the repository with the files of the run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was stored, and where it is now, as JSON")
	_ = cmd.MarkFlagRequired("to") // the flag is there
	return cmd
}

// getFiles makes a folder with the files that were stored last.
func getFiles(ctx context.Context, conn *engine.Conn, tenant, id, to string) (*workspace.Point, error) {
	to, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(to); err == nil {
		return nil, fmt.Errorf("%s already exists; give --to a new folder", to)
	}
	run, err := runs.New(conn, tenant).Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if run.Workspace == nil {
		return nil, fmt.Errorf("it does not work on a git repository; its files are in the folder %s on %s", run.Dir, cmp.Or(run.Host, "the worker's machine"))
	}
	logs := journal.New(conn, tenant, nil)
	blobs, err := filesStore(logs, run)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(filepath.Dir(to), ".haft-files-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	last, err := storedFiles(ctx, logs, run, filepath.Join(temp, "sessions"))
	if err != nil {
		return nil, err
	}
	w, err := workspace.Open(ctx, &workspace.Options{Dir: temp, Run: id, Spec: run.Workspace.Spec, Base: run.Workspace.Base, Branch: run.Workspace.BaseBranch, Last: last, Blobs: blobs})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	p := *w.Point()
	p.Path = to
	return &p, w.Export(ctx, to)
}

// storedFiles is the last point of a run: in the journal, or in the run if that was archived.
func storedFiles(ctx context.Context, logs *journal.Logs, run *runs.Run, temp string) (*workspace.Point, error) {
	if run.State == runs.Archived {
		return run.Workspace.Stored, nil
	}
	s, err := session.OpenLogs(logs, temp).Resume(ctx, run.ID, nil)
	if errors.Is(err, session.ErrNotFound) {
		return run.Workspace.Stored, nil // no worker has begun
	}
	if err != nil {
		return nil, err
	}
	p := run.Workspace.Stored
	if raw := s.Restored().States[session.StateFiles]; raw != nil {
		err = json.Unmarshal(raw, &p)
	}
	return p, err
}

// archiveFiles copies what the repository of a run does not have into an archive, and returns the last
// point, which the journal has.
func archiveFiles(ctx context.Context, logs *journal.Logs, run *runs.Run, to archive.Store) (*workspace.Point, error) {
	if run.Workspace == nil {
		return nil, nil
	}
	temp, err := os.MkdirTemp("", "haft-archive-")
	if err != nil {
		return nil, fmt.Errorf("could not archive the files of run %s: %w", run.ID, err)
	}
	defer os.RemoveAll(temp)
	p, err := storedFiles(ctx, logs, run, temp)
	if err != nil {
		return nil, fmt.Errorf("could not archive the files of run %s: %w", run.ID, err)
	}
	if p == nil {
		return nil, nil
	}
	for _, digest := range p.Packs {
		pack, err := logs.Blobs().Get(ctx, digest)
		if err == nil {
			_, err = to.Put(ctx, packName(digest), pack)
		}
		if err == nil { // the store will not have it much longer
			pack, err = to.Get(ctx, packName(digest))
		}
		if err == nil && blob.Digest(pack) != digest {
			err = fmt.Errorf("%s in the archive differs from what was written", digest)
		}
		if err != nil {
			return nil, fmt.Errorf("could not archive the files of run %s: %w", run.ID, err)
		}
	}
	return p, nil
}

func packName(digest string) string { return "haft-blobs/" + digest[:2] + "/" + digest[2:] }

// filesStore is where the files of a run are: in the engine, and in its archive.
func filesStore(logs *journal.Logs, run *runs.Run) (blob.Store, error) {
	if run.State != runs.Archived {
		return logs.Blobs(), nil
	}
	to, _ := archive.Split(run.Archive)
	store, err := archive.Open(to, os.Getenv)
	return archived{logs.Blobs(), store}, err
}

// archived are contents that may be in an archive only.
type archived struct {
	blob.Store
	archive archive.Store
}

// Get implements [blob.Store].
func (a archived) Get(ctx context.Context, digest string) ([]byte, error) {
	content, err := a.Store.Get(ctx, digest)
	if !errors.Is(err, fs.ErrNotExist) || len(digest) < 3 {
		return content, err
	}
	if content, err = a.archive.Get(ctx, packName(digest)); err == nil && blob.Digest(content) != digest {
		err = fmt.Errorf("%s in the archive is damaged: %w", digest, fs.ErrInvalid)
	}
	return content, err
}
