package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

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
			location, digest, err := archiveRun(ctx, runs.New(conn, tenant), journal.New(conn, tenant, nil), id, to)
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
			return fmt.Errorf("the runs are archived, but their stored files could not be removed: %w. 'haft-fleet serve' tries again every hour", err)
		case asJSON:
			return json.NewEncoder(out).Encode(freed)
		case freed.Objects > 0:
			fmt.Fprintf(os.Stderr, "freed %d bytes of stored files\n", freed.Bytes)
		}
		return nil
	})
	cmd.Use = "archive RUN..."
	cmd.Flags().StringVar(&to, "to", "", "folder for the files, or s3://BUCKET/PREFIX (keys are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per run, then one with the space that was freed")
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
func archiveRun(ctx context.Context, r *runs.Runs, logs *journal.Logs, id, to string) (location, digest string, err error) {
	if err := awaitRest(ctx, r, id, restTime); err != nil {
		return "", "", err
	}
	run, err := r.Get(ctx, id)
	if err != nil {
		return "", "", err
	}
	if run.State != runs.Archived {
		if err := r.Note(ctx, "archive", id, to); err != nil {
			return "", "", fmt.Errorf("could not archive run %s: %w", id, err)
		}
		store, err := archive.Open(to, os.Getenv)
		if err != nil {
			return "", "", fmt.Errorf("could not archive run %s: %w", id, err)
		}
		if run, err = sealRun(ctx, r, logs, run, store); err != nil {
			return "", "", err
		}
	}
	if err := settleArchived(ctx, r, id); err != nil {
		return "", "", err
	}
	return run.Archive, run.Digest, purgeArchived(ctx, logs, id, run.Archive, run.Digest)
}

const (
	// restTime is how long a worker may take that still ends a turn.
	restTime = 30 * time.Second
	restStep = 100 * time.Millisecond
)

// awaitRest waits for the worker of a run that has nothing to do: what the worker still writes would
// not be in the archive. It gives its task back when it has written everything.
func awaitRest(ctx context.Context, r *runs.Runs, id string, limit time.Duration) error {
	for end, told := time.Now().Add(limit), false; ; told = true {
		run, err := r.Get(ctx, id)
		if err != nil {
			return err
		}
		switch run.State {
		case runs.Archived:
			return nil
		case runs.Idle, runs.Failed, runs.Cancelled:
		default:
			return fmt.Errorf("cannot archive run %s: it is %s", id, run.State)
		}
		tasked, err := r.Tasked(ctx, id)
		switch {
		case err != nil || !tasked:
			return err
		case time.Now().After(end):
			return fmt.Errorf("cannot archive run %s: it is %s, but a worker may still be storing its files. Try again when a worker that takes %q runs is connected (see 'haft-fleet runs show %s')", id, run.State, run.Class, id)
		case !told:
			fmt.Fprintf(os.Stderr, "waiting for the worker of run %s\n", id)
		}
		if err := engine.Pause(ctx, restStep); err != nil {
			return fmt.Errorf("could not archive run %s: %w", id, err)
		}
	}
}

// sealRun writes a run into a store and makes it archived, unless it has changed since it was read: a
// turn that was run meanwhile would be lost.
func sealRun(ctx context.Context, r *runs.Runs, logs *journal.Logs, run *runs.Run, store archive.Store) (*runs.Run, error) {
	if pending, err := r.Pending(ctx, run.ID); err != nil || len(pending) > 0 {
		return nil, errors.Join(err, fmt.Errorf("cannot archive run %s: it still has prompts to run (%d)", run.ID, len(pending)))
	}
	files, err := archiveFiles(ctx, logs, run, store)
	if err != nil {
		return nil, err
	}
	location, digest, err := logs.Seal(ctx, run.ID, store)
	if err != nil {
		return nil, err
	}
	return r.Update(ctx, run.ID, func(now *runs.Run) error {
		switch {
		case now.State == runs.Archived && now.Archive == location && now.Digest == digest:
			return runs.ErrUnchanged // by this, whose answer did not come
		case now.After(run):
			return fmt.Errorf("could not archive run %s: it changed in the meantime and is %s now. Try again", run.ID, now.State)
		}
		now.State, now.Archive, now.Digest = runs.Archived, location, digest
		if now.Workspace != nil {
			now.Workspace.Stored = files // the journal is gone then
		}
		return nil
	})
}

// settleArchived gives prompts an outcome that came while the run was archived: no worker takes them.
func settleArchived(ctx context.Context, r *runs.Runs, id string) error {
	pending, err := r.Pending(ctx, id)
	for _, p := range pending {
		err = errors.Join(err, r.Settle(ctx, id, p.UUID, &runs.Outcome{IsError: true, Reason: "archived", Text: "The run was archived before this prompt was run. Submit the prompt as a new run."}))
	}
	return err
}

// purgeArchived deletes the journal of a run once its archive was read back.
func purgeArchived(ctx context.Context, logs *journal.Logs, id, location, digest string) error {
	to, name := archive.Split(location)
	store, err := archive.Open(to, os.Getenv)
	if err != nil {
		return fmt.Errorf("could not check the archive of run %s: %w", id, err)
	}
	return logs.Purge(ctx, id, store, name, digest)
}
