package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	var state string
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
	ls.Flags().StringVar(&state, "state", "", "only runs in this state, such as running, quarantined or archived")
	ls.Flags().StringToStringVar(&tags, "tag", nil, "only runs with these tags, such as team=docs")
	ls.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.AddCommand(ls, newArchive(out), newLogs(out), newFiles(out),
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
