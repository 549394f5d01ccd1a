package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/front/headless/launch"
)

// newSchedules keeps schedules.
func newSchedules(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "schedules", Short: "Submit runs on a schedule"}
	var asJSON bool
	ls := runsCommand("ls", "List schedules", cobra.NoArgs, func(ctx context.Context, conn *engine.Conn, tenant string, _ []string) error {
		list, err := runs.New(conn, tenant).Schedules(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, s := range list {
			if asJSON {
				if err := json.NewEncoder(out).Encode(s); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, s.Cron, s.Zone, s.Submission.Place(), s.Submission.Prompt.Text)
		}
		return table.Flush()
	})
	ls.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	rm := runsCommand("rm", "Remove a schedule", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
		return runs.New(conn, tenant).RemoveSchedule(ctx, args[0])
	})
	rm.Use = "rm NAME"
	cmd.AddCommand(newSchedule(), ls, rm)
	return cmd
}

func newSchedule() *cobra.Command {
	var s runs.Schedule
	place := &placeFlags{}
	cmd := runsCommand("set", "Submit a prompt as a new run at the times of a cron expression", cobra.MinimumNArgs(2),
		func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
			var err error
			if s.Submission.Args, err = launch.Submitted(args[2:], true); err != nil {
				return fmt.Errorf("could not set the schedule: %w", err)
			}
			s.Name, s.Submission.Prompt.Text = args[0], args[1]
			if err := place.apply(&s.Submission); err != nil {
				return err
			}
			return runs.New(conn, tenant).SetSchedule(ctx, &s)
		})
	cmd.Use = "set NAME PROMPT --cron EXPRESSION [-- HAFT-FLAGS]"
	cmd.Example = "  haft-fleet schedules set triage 'look at new issues' --cron '0 6 * * 1-5' --zone Europe/Berlin"
	place.add(cmd, &s.Submission)
	flags := cmd.Flags()
	flags.StringVar(&s.Cron, "cron", "", "cron expression (minute, hour, day of the month, month, day of the week), or an interval such as \"@every 1h\"")
	flags.StringVar(&s.Zone, "zone", "", "time zone of the expression, such as Europe/Berlin; defaults to UTC")
	flags.StringVar(&s.Submission.Priority, "priority", runs.Normal, "priority of the runs: "+strings.Join(engine.Priorities(), ", "))
	_ = cmd.MarkFlagRequired("cron") // the flag is there
	return cmd
}
