package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/text/visible"
)

// newRuns shows and changes runs.
func newRuns(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "runs", Short: "List, inspect, cancel, retry and archive runs"}
	cmd.AddCommand(newList(out), newArchive(out), newLogs(out), newFiles(out),
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
		runsCommand("retry", "Retry a run that failed, was cancelled or is quarantined", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
			return runs.New(conn, tenant).Retry(ctx, args[0])
		}))
	return cmd
}

// newList lists runs page by page: there may be very many.
func newList(out io.Writer) *cobra.Command {
	q := &runs.Query{}
	var state string
	var limit int
	var asJSON bool
	var tags map[string]string
	cmd := runsCommand("ls", "List runs, those that changed last first", cobra.NoArgs, func(ctx context.Context, conn *engine.Conn, tenant string, _ []string) error {
		q.State = runs.State(state)
		list, next, err := listRuns(ctx, runs.New(conn, tenant), q, limit, tags)
		if err == nil {
			err = printRuns(out, list, asJSON)
		}
		if err == nil && next != "" {
			fmt.Fprintf(os.Stderr, "There are more runs: add --before %s\n", next)
		}
		return err
	})
	cmd.Flags().StringVar(&state, "state", "", "only runs in this state, such as running, quarantined or archived")
	cmd.Flags().StringToStringVar(&tags, "tag", nil, "only runs with these tags, such as team=docs")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of runs to list; 0 means all")
	cmd.Flags().StringVar(&q.Before, "before", "", "where the previous page ended, as printed after it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// listRuns reads pages until it has enough runs with some tags; limit 0 means all.
func listRuns(ctx context.Context, r *runs.Runs, q *runs.Query, limit int, tags map[string]string) (list []*runs.Run, next string, err error) {
	for {
		q.Limit = runs.MaxPage
		if limit > 0 {
			q.Limit = min(limit-len(list), runs.MaxPage)
		}
		page, next, err := r.Page(ctx, q)
		if err != nil {
			return nil, "", err
		}
		list = append(list, slices.DeleteFunc(page, func(run *runs.Run) bool { return !hasTags(run, tags) })...)
		if q.Before = next; next == "" || limit > 0 && len(list) >= limit {
			return list, next, nil
		}
	}
}

func runsCommand(name, short string, args cobra.PositionalArgs, do func(context.Context, *engine.Conn, string, []string) error) *cobra.Command {
	join := &joinFlags{}
	use := name
	if name != "ls" {
		use += " RUN"
	}
	cmd := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		conn, err := join.connect(cmd.Context(), engine.Operator)
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
