package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/archive"
	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/visible"
)

// newRuns shows and changes runs.
func newRuns(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "runs", Short: "List, show, cancel, retry and archive runs"}
	var state, to string
	var asJSON bool
	var tags map[string]string
	ls := runsCommand("ls", "List runs, newest first", cobra.NoArgs, func(ctx context.Context, conn *engine.Conn, tenant string, _ []string) error {
		list, err := runs.New(conn, tenant).List(ctx)
		if err != nil {
			return err
		}
		return printRuns(out, slices.DeleteFunc(list, func(r *runs.Run) bool {
			return state != "" && r.State != runs.State(state) || !hasTags(r, tags)
		}), asJSON)
	})
	ls.Flags().StringVar(&state, "state", "", "only those in this state, such as running, quarantined or archived (with the location of the archive)")
	ls.Flags().StringToStringVar(&tags, "tag", nil, "only those with these tags, such as team=docs")
	ls.Flags().BoolVar(&asJSON, "json", false, "one JSON object per line")
	seal := runsCommand("archive", "Seal a run into a file and delete its journal", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
		location, digest, err := archiveRun(ctx, conn, tenant, args[0], to)
		if err == nil {
			fmt.Fprintf(out, "%s sha256:%s\n", location, digest)
		}
		return err
	})
	seal.Flags().StringVar(&to, "to", "", "folder for the file, or s3://BUCKET/PREFIX (keys are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)")
	_ = seal.MarkFlagRequired("to") // the flag is there
	cmd.AddCommand(ls, seal, newLogs(out), newFiles(out),
		runsCommand("show", "Show a run as JSON", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
			run, err := runs.New(conn, tenant).Get(ctx, args[0])
			if err != nil {
				return err
			}
			enc := json.NewEncoder(out)
			enc.SetIndent("", "  ")
			return enc.Encode(run)
		}),
		runsCommand("cancel", "Stop a run", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
			return runs.New(conn, tenant).Cancel(ctx, args[0])
		}),
		runsCommand("retry", "Let workers retry a quarantined run", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
			return runs.New(conn, tenant).Retry(ctx, args[0])
		}))
	return cmd
}

func runsCommand(name, short string, args cobra.PositionalArgs, do func(context.Context, *engine.Conn, string, []string) error) *cobra.Command {
	join := &joinFlags{}
	use := name
	if name != "ls" {
		use += " RUN"
	}
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		conn, err := join.connect(cmd.Context(), "operator.nk")
		if err != nil {
			return err
		}
		defer conn.Close()
		return do(cmd.Context(), conn, join.tenant, args)
	}}
	join.add(cmd)
	return cmd
}

func hasTags(run *runs.Run, tags map[string]string) bool {
	for k, v := range tags {
		if run.Tags[k] != v {
			return false
		}
	}
	return true
}

func printRuns(out io.Writer, list []*runs.Run, asJSON bool) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, run := range list {
		if asJSON {
			if err := json.NewEncoder(out).Encode(run); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", run.ID, run.State, run.Updated.Local().Format(time.DateTime), visible.Name(run.Dir), visible.Name(cmp.Or(run.Archive, run.Reason)))
	}
	return table.Flush()
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
