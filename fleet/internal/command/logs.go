package command

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// newLogs prints the journal of a run, and what comes.
func newLogs(out io.Writer) *cobra.Command {
	var follow, asJSON bool
	var after string
	cmd := runsCommand("logs", "Print the journal of a run", cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
		logs, r := journal.New(conn, tenant, nil), runs.New(conn, tenant)
		for {
			run, err := r.Get(ctx, args[0]) // before the journal, which then is whole if it rests
			if err != nil {
				return err
			}
			pending, err := r.Pending(ctx, args[0])
			if err != nil {
				return err
			}
			if after, err = writeEvents(ctx, out, logs, args[0], after, asJSON); err != nil {
				return err
			}
			rests := !run.Open() || len(pending) == 0 && (run.State == runs.Idle || run.State == runs.Failed)
			if !follow || rests || engine.Pause(ctx, 200*time.Millisecond) != nil {
				return nil
			}
		}
	})
	cmd.Flags().BoolVar(&follow, "follow", false, "print new entries as they are written, until the run has nothing more to do")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each entry with its id, as {\"id\":…,\"entry\":…}")
	cmd.Flags().StringVar(&after, "after", "", "print only entries after the one with this id")
	return cmd
}

// writeEvents prints the events after one and returns the last.
func writeEvents(ctx context.Context, out io.Writer, logs *journal.Logs, id, after string, asJSON bool) (last string, err error) {
	for e, err := range logs.Events(ctx, id, after) {
		if err != nil {
			return after, err
		}
		line := []byte(e.Entry)
		if asJSON {
			if line, err = json.Marshal(e); err != nil {
				return after, err
			}
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return after, err
		}
		after = e.ID
	}
	return after, nil
}
