package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// newArchive seals runs.
func newArchive(out io.Writer) *cobra.Command {
	var to string
	var asJSON bool
	cmd := runsCommand("archive", "Save runs to files, and delete their journals and stored files", cobra.MinimumNArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
		for _, id := range args {
			location, digest, err := archiveRun(ctx, conn, tenant, id, to)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(out).Encode(map[string]string{"id": id, "archive": location, "digest": digest})
			} else {
				_, err = fmt.Fprintf(out, "%s sha256:%s\n", location, digest)
			}
			if err != nil {
				return err
			}
		}
		freed, err := collect(ctx, runs.New(conn, tenant), journal.New(conn, tenant, nil))
		switch {
		case err != nil:
			return fmt.Errorf("the runs are archived, but their stored files are not removed yet; 'haft-fleet serve' tries again: %w", err)
		case asJSON:
			return json.NewEncoder(out).Encode(freed)
		case freed.Objects > 0:
			fmt.Fprintf(os.Stderr, "freed %d bytes of stored files\n", freed.Bytes)
		}
		return nil
	})
	cmd.Use = "archive RUN..."
	cmd.Flags().StringVar(&to, "to", "", "folder for the files, or s3://BUCKET/PREFIX (keys are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object per run, and one that says what was freed")
	_ = cmd.MarkFlagRequired("to") // the flag is there
	return cmd
}

// collect removes the stored files of runs that were archived or deleted.
func collect(ctx context.Context, r *runs.Runs, logs *journal.Logs) (journal.Freed, error) {
	return logs.Collect(ctx, func(id string) (bool, error) {
		run, err := r.Get(ctx, id)
		if errors.Is(err, runs.ErrNotFound) {
			return true, nil
		}
		return err == nil && run.State == runs.Archived, err
	})
}

// archiveRun seals a run that has nothing to do. What was begun before is finished.
func archiveRun(ctx context.Context, conn *engine.Conn, tenant, id, to string) (location, digest string, err error) {
	r, logs := runs.New(conn, tenant), journal.New(conn, tenant, nil)
	run, err := r.Get(ctx, id)
	if err != nil {
		return "", "", err
	}
	switch run.State {
	case runs.Archived:
		return run.Archive, run.Digest, purgeArchived(ctx, logs, id, run.Archive, run.Digest)
	case runs.Idle, runs.Failed, runs.Cancelled:
	default:
		return "", "", fmt.Errorf("archive run %s: it is %s", id, run.State)
	}
	if pending, err := r.Pending(ctx, id); err != nil || len(pending) > 0 {
		return "", "", errors.Join(err, fmt.Errorf("archive run %s: it still has prompts to run (%d)", id, len(pending)))
	}
	store, err := archive.Open(to, os.Getenv)
	if err != nil {
		return "", "", fmt.Errorf("archive run %s: %w", id, err)
	}
	files, err := archiveFiles(ctx, logs, run, store)
	if err != nil {
		return "", "", err
	}
	if location, digest, err = logs.Seal(ctx, id, store); err != nil {
		return "", "", err
	}
	was := run.State
	if _, err := r.Update(ctx, id, func(run *runs.Run) error {
		if run.State != was {
			return fmt.Errorf("archive run %s: it is now %s", id, run.State)
		}
		run.State, run.Archive, run.Digest = runs.Archived, location, digest
		if run.Workspace != nil {
			run.Workspace.Stored = files // the journal is gone then
		}
		return nil
	}); err != nil {
		return "", "", err
	}
	return location, digest, purgeArchived(ctx, logs, id, location, digest)
}

// purgeArchived deletes the journal of a run once its archive was read back.
func purgeArchived(ctx context.Context, logs *journal.Logs, id, location, digest string) error {
	to, name := archive.Split(location)
	store, err := archive.Open(to, os.Getenv)
	if err != nil {
		return fmt.Errorf("check the archive of run %s: %w", id, err)
	}
	return logs.Purge(ctx, id, store, name, digest)
}
