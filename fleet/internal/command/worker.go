package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/fleet/internal/worker"
	"github.com/haftdev/haft/internal/world/mcp/toolhost"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func newWorker(reexec shellrun.Reexec) *cobra.Command {
	join := &joinFlags{}
	var labels []string
	var slots, attempts int
	var lease, drain time.Duration
	var dir, workspaces, host, toolsOn string
	var oneRun bool
	page := &statusPage{}
	cmd := &cobra.Command{
		Use: "worker", Short: "Execute a fleet's runs on this machine", Args: cobra.NoArgs,
		Long: "Execute a fleet's runs on this machine. On SIGTERM, a worker takes no more runs, lets turns finish (see --drain) and returns the rest to the queue.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var tools *toolhost.Host
			if cmd.Flags().Changed("tools-on") {
				var err error
				if tools, err = toolhost.Parse(toolsOn); err != nil {
					return fmt.Errorf("--tools-on: %w", err)
				}
			}
			conn, err := join.connect(cmd.Context(), engine.Worker)
			if err != nil {
				return err
			}
			defer conn.Close()
			if host == "" {
				host, _ = os.Hostname() // without one, the name is the process
			}
			if workspaces != "" {
				if workspaces, err = filepath.Abs(workspaces); err != nil { // repositories name each other
					return fmt.Errorf("could not find the folder for workspaces: %w", err)
				}
			}
			closed, err := closedFiles(join.key)
			if err != nil {
				return fmt.Errorf("could not find the files to keep from runs: %w", err)
			}
			metrics := newRegistry()
			if page.listen != "" {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return fmt.Errorf("could not make the folder for session data: %w", err)
				}
				if page.token, err = metricsToken(dir); err != nil {
					return err
				}
				page.metrics, page.ready = metrics, func(ctx context.Context) error { return canTakeRuns(cmd.Context(), conn) }
				serving, end := context.WithCancel(context.WithoutCancel(cmd.Context())) // also while it drains
				defer end()
				if err := page.serve(serving); err != nil {
					return err
				}
			}
			return worker.Run(cmd.Context(), &worker.Options{
				Conn: conn, Tenant: join.tenant, Name: path.Join(conn.Key, fmt.Sprintf("%s/%d/%s", cmp.Or(host, "worker"), os.Getpid(), rand.Text()[:6])), Slots: slots,
				Classes: append([]string{runs.AnyWorker, runs.OnHost(host)}, labels...), Lease: lease, Drain: drain, OneRun: oneRun, Attempts: attempts, Dir: dir, Workspaces: workspaces, Host: host, ToolHost: tools, Closed: closed, Reexec: reexec, Version: "fleet", Log: logger(), Metrics: worker.NewMetrics(metrics),
			})
		},
	}
	join.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&slots, "slots", 4, "number of runs to execute at once")
	flags.BoolVar(&oneRun, "one-run", false, "execute one run, until it has nothing to do, and exit: for a container of its own for each run. Implies --slots 1")
	flags.StringArrayVar(&labels, "label", nil, "also take runs that were submitted with this label; may be repeated")
	flags.DurationVar(&lease, "lease", time.Minute, "how long a silent worker keeps its run before another may take it; must be the same for all workers")
	flags.IntVar(&attempts, "attempts", 5, "how many workers may take a run and stop before they write anything until the run is quarantined (three times as many if they write something but do not finish)")
	flags.DurationVar(&drain, "drain", time.Minute, "how long turns may take to finish after SIGTERM")
	flags.StringVar(&host, "host", "", "name of this machine for runs that work in its folders; machines with the same files may share a name. Defaults to the hostname")
	flags.StringVar(&toolsOn, "tools-on", "", "run the tools of all runs on another machine, in a folder there: ssh://[user@]host[:port]/dir or docker:CONTAINER:/dir")
	flags.StringVar(&workspaces, "workspaces", defaultWorkspaces(), "folder for the files of runs that work on git repositories")
	flags.StringVar(&dir, "dir", filepath.Join(defaultStore(), "sessions"), "folder for session data on this machine")
	flags.StringVar(&page.listen, "status", "", "address for /livez, /readyz and /metrics of this worker, such as 127.0.0.1:4282. On the network, they need --status-cert, and /metrics the token in metrics.token in --dir")
	flags.StringVar(&page.cert, "status-cert", "", "TLS certificate for --status")
	flags.StringVar(&page.key, "status-key", "", "key of that certificate")
	return cmd
}

// canTakeRuns returns why a worker cannot take runs.
func canTakeRuns(working context.Context, conn *engine.Conn) error {
	switch {
	case working.Err() != nil:
		return errors.New("the worker is stopping")
	case !conn.NATS.IsConnected():
		return errors.New("the connection to the server is lost")
	}
	return nil
}

// defaultWorkspaces is outside of haft's own state, which no run may touch.
func defaultWorkspaces() string {
	home, _ := os.UserHomeDir() // without one, it is below the working directory
	return filepath.Join(cmp.Or(os.Getenv("XDG_DATA_HOME"), filepath.Join(home, ".local", "share")), "haft", "workspaces")
}
