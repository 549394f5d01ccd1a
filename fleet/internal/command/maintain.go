package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/text/visible"
)

// newBackup copies what a fleet has.
func newBackup(out io.Writer) *cobra.Command {
	join := &joinFlags{}
	var to string
	cmd := &cobra.Command{
		Use: "backup", Short: "Copy the runs of a tenant to a folder while the fleet works", Args: cobra.NoArgs,
		Long: "Copy the runs of a tenant, with their journals, prompts, questions, schedules and files, to a new folder, while the fleet works. 'haft-fleet restore' makes a new store from it. Keys are not copied.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := join.connect(cmd.Context(), engine.Operator)
			if err != nil {
				return err
			}
			defer conn.Close()
			b, err := conn.Backup(cmd.Context(), to)
			if err == nil {
				_, err = fmt.Fprintf(out, "backed up %d streams, %d bytes, in %s to %s\n", len(b.Streams), b.Bytes, b.Ended.Sub(b.Began).Round(time.Millisecond), to)
			}
			return err
		},
	}
	join.add(cmd)
	cmd.Flags().StringVar(&to, "to", "", "folder for the backup, which must be empty or not exist")
	_ = cmd.MarkFlagRequired("to") // the flag is there
	return cmd
}

// newRestore makes a store of a backup.
func newRestore(out io.Writer) *cobra.Command {
	var store, tenant string
	cmd := &cobra.Command{
		Use: "restore BACKUP", Short: "Make a new store from a backup; no server may use it yet", Args: cobra.ExactArgs(1),
		Long: "Make a new store from a backup, or add a tenant to one. The store has new keys: create those of workers again with 'haft-fleet keys add'.",
		RunE: func(cmd *cobra.Command, args []string) error {
			srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store, Tenants: []string{tenant}})
			if err != nil {
				return err
			}
			defer srv.Close()
			conn, err := engine.Connect(cmd.Context(), srv.URL(), &engine.ConnectOptions{Key: srv.TenantKeys(tenant).Operator})
			if err != nil {
				return err
			}
			defer conn.Close()
			b, err := conn.Restore(cmd.Context(), args[0])
			if err == nil {
				_, err = fmt.Fprintf(out, "restored what the fleet had between %s and %s\n", b.Began.Local().Format(time.DateTime), b.Ended.Local().Format(time.DateTime))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&store, "store", defaultStore(), "folder for the new store")
	cmd.Flags().StringVar(&tenant, "tenant", engine.DefaultTenant, "tenant that the runs are for")
	return cmd
}

// newRepair puts the list of runs right.
func newRepair(out io.Writer) *cobra.Command {
	join := &joinFlags{}
	cmd := &cobra.Command{
		Use: "repair", Short: "Rebuild the list of runs from their prompts and journals", Args: cobra.NoArgs,
		Long: "Rebuild the list of runs from their prompts and journals where it is damaged, and create missing tasks. It can run while the fleet works, and changes nothing that is in order.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := join.connect(cmd.Context(), engine.Operator)
			if err != nil {
				return err
			}
			defer conn.Close()
			r := runs.New(conn, join.tenant)
			if err := r.Note(cmd.Context(), "repair", "", ""); err != nil {
				return err
			}
			logs := journal.New(conn, join.tenant, nil)
			done, err := r.Repair(cmd.Context(), func(ctx context.Context, id string) (string, error) { return folderOf(ctx, logs, id) })
			if err != nil {
				return err
			}
			return json.NewEncoder(out).Encode(done)
		},
	}
	join.add(cmd)
	return cmd
}

// folderOf is the folder that the journal of a session names; "" if it names none that can be read.
func folderOf(ctx context.Context, logs *journal.Logs, id string) (string, error) {
	text, err := logs.Text(ctx, id, "")
	if _, damaged := errors.AsType[*journal.DamagedError](err); err != nil && !damaged {
		return "", err
	}
	for line := range bytes.Lines(text) {
		var l struct{ Cwd string }
		if json.Unmarshal(line, &l) == nil && l.Cwd != "" {
			return l.Cwd, nil
		}
	}
	return "", nil
}

// newAudit shows who has done what.
func newAudit(out io.Writer) *cobra.Command {
	join := &joinFlags{}
	var since time.Duration
	var run string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who submitted, answered, cancelled and changed what", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, err := join.connect(cmd.Context(), engine.Operator)
			if err != nil {
				return err
			}
			defer conn.Close()
			table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			var failed error
			err = runs.New(conn, join.tenant).Audit(cmd.Context(), time.Now().Add(-since), func(d *runs.Deed) bool {
				switch {
				case run != "" && d.Run != run:
				case asJSON:
					failed = json.NewEncoder(out).Encode(d)
				default:
					_, failed = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", d.At.Local().Format(time.DateTime), visible.Name(d.By), visible.Name(d.Key), d.What, d.Run, visible.Name(d.Detail))
				}
				return failed == nil
			})
			return errors.Join(err, failed, table.Flush())
		},
	}
	join.add(cmd)
	cmd.Flags().DurationVar(&since, "since", 7*24*time.Hour, "how far to look back")
	cmd.Flags().StringVar(&run, "run", "", "only what was done to this run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

// newCheck asks a process how it is, for machines without other programs that can.
func newCheck(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "check URL", Short: "Exit with 0 if an address such as http://127.0.0.1:4282/readyz answers that all is well", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := engine.Attempt(cmd.Context())
			defer cancel()
			q, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
			if err != nil {
				return err
			}
			res, err := http.DefaultClient.Do(q)
			if err != nil {
				return fmt.Errorf("could not check: %w", err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(io.LimitReader(res.Body, 1000))
			if err == nil && res.StatusCode != http.StatusOK {
				err = fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(text)))
			}
			if err == nil {
				_, err = out.Write(text)
			}
			return err
		},
	}
}

// A retention says when runs are archived that have nothing to do.
type retention struct {
	after time.Duration // 0 means never
	to    string
}

const (
	// retentionTime is how often runs are looked for that may be archived, retentionBatch how many at once.
	retentionTime  = 10 * time.Minute
	retentionBatch = 1000
)

// keep archives runs of a tenant until ctx ends.
func (p retention) keep(ctx context.Context, c tenantConn, log *slog.Logger) {
	if p.after <= 0 {
		return
	}
	for engine.Pause(ctx, min(retentionTime, p.after)) == nil {
		p.archive(ctx, c, log)
	}
}

// archive archives what has rested for long enough.
func (p retention) archive(ctx context.Context, c tenantConn, log *slog.Logger) {
	logs, done := journal.New(c.conn, c.runs.Tenant(), nil), 0
	for _, id := range c.index.Rested(time.Now().Add(-p.after), retentionBatch) {
		_, _, err := archiveRun(ctx, c.runs.As("retention"), logs, id, p.to)
		if err == nil {
			err = c.runs.DropPrompts(ctx, id) // the archive has them
		}
		if err != nil {
			if ctx.Err() == nil {
				log.Warn("could not archive a run", "tenant", c.name, "run", id, "error", err)
			}
			continue
		}
		done++
	}
	if done > 0 {
		log.Info("archived runs", "tenant", c.name, "runs", done, "to", p.to)
		c.metrics.archived.Add(float64(done))
	}
}
