package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
)

type serveFlags struct {
	listen, store, nats, key, tenant, cert, certKey, ca, status string
	monitors                                                    []string
	replicas                                                    int
}

func newServe(out io.Writer) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Keep the journals and queues of a fleet", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), out) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:4222", "address for workers and clients")
	flags.StringVar(&f.store, "store", defaultStore(), "folder of everything that is kept")
	flags.StringVar(&f.nats, "nats", "", "use this NATS cluster instead of a server of its own")
	flags.StringSliceVar(&f.monitors, "monitor", nil, "with --nats: monitoring address of each server, such as http://10.0.0.1:8222")
	flags.StringVar(&f.key, "key", "", "with --nats: file of the key")
	flags.IntVar(&f.replicas, "replicas", 0, "copies of everything; the default is 1, and 3 with --nats")
	flags.StringVar(&f.cert, "tls-cert", "", "certificate of the server")
	flags.StringVar(&f.certKey, "tls-key", "", "its key")
	flags.StringVar(&f.ca, "tls-ca", "", "with --nats: certificate of the authority that signed the cluster's")
	flags.StringVar(&f.status, "status", "127.0.0.1:4280", "address of /healthz and /metrics; \"\" means none")
	flags.StringVar(&f.tenant, "tenant", "default", "whose runs are looked after")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, out io.Writer) error {
	if f.nats != "" && (f.cert != "" || f.certKey != "") {
		return errors.New("--tls-cert and --tls-key are for a server of its own. With --nats, name the cluster's authority with --tls-ca")
	}
	log := logger()
	url, key, replicas := f.nats, f.key, f.replicas
	if f.nats == "" {
		o := &engine.ServerOptions{Listen: f.listen, Store: f.store}
		if f.cert != "" || f.certKey != "" {
			pair, err := tls.LoadX509KeyPair(f.cert, f.certKey)
			if err != nil {
				return fmt.Errorf("read the certificate: %w", err)
			}
			o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
		}
		srv, err := engine.Start(o)
		if err != nil {
			return err
		}
		defer srv.Close()
		url, key = srv.URL(), srv.Keys().Operator
		fmt.Fprintf(out, "serving at %s\nworkers join with: haft-fleet worker --join %s --key %s\n", url, url, srv.Keys().Worker)
	} else if err := engine.CheckCluster(ctx, f.monitors); err != nil {
		return err
	}
	if replicas == 0 {
		replicas = 1
		if f.nats != "" {
			replicas = 3
		}
	}
	o := &engine.ConnectOptions{Key: key, Name: "haft-fleet serve"}
	if f.nats == "" && f.cert != "" {
		o.TLS = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} // the server is in this process
	}
	if f.nats != "" {
		var err error
		if o.TLS, err = authority(f.ca); err != nil {
			return err
		}
	}
	conn, err := engine.Connect(ctx, url, o)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Setup(ctx, replicas); err != nil {
		return err
	}
	r := runs.New(conn, f.tenant)
	if f.status != "" {
		if err := serveStatus(ctx, f.status, conn, r); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "ready")
	sweep(ctx, r, log)
	return nil
}

// sweep looks for runs that a worker left without a task, until ctx ends.
func sweep(ctx context.Context, r *runs.Runs, log *slog.Logger) {
	for ok := true; ok; ok = engine.Pause(ctx, 5*time.Second) == nil {
		switch made, err := r.Sweep(ctx); {
		case err != nil && ctx.Err() == nil:
			log.Warn("could not look for runs without tasks", "error", err)
		case made > 0:
			log.Info("made tasks for runs that had none", "runs", made)
		}
	}
}

// serveStatus answers /healthz and /metrics.
func serveStatus(ctx context.Context, listen string, conn *engine.Conn, r *runs.Runs) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("serve the status: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, q *http.Request) {
		if _, err := conn.JS.AccountInfo(q.Context()); err != nil {
			http.Error(w, "the engine does not answer", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, q *http.Request) { writeMetrics(w, q, conn, r) })
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { srv.Close() })
	go srv.Serve(l)
	return nil
}

func writeMetrics(w http.ResponseWriter, q *http.Request, conn *engine.Conn, r *runs.Runs) {
	list, err := r.List(q.Context())
	if err != nil {
		http.Error(w, "the engine does not answer", http.StatusServiceUnavailable)
		return
	}
	count := map[runs.State]int{}
	for _, run := range list {
		count[run.State]++
	}
	fmt.Fprintln(w, "# TYPE haft_runs gauge")
	for _, s := range []runs.State{runs.Queued, runs.Running, runs.Idle, runs.Failed, runs.Cancelled, runs.Quarantined, runs.Archived} {
		fmt.Fprintf(w, "haft_runs{state=%q} %d\n", s, count[s])
	}
	fmt.Fprintln(w, "# TYPE haft_stream_messages gauge\n# TYPE haft_stream_bytes gauge")
	names := []string{engine.Tasks, engine.Prompts, engine.Witnesses}
	for n := range uint32(engine.Shards) {
		names = append(names, engine.Shard(n))
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		var info *jetstream.StreamInfo
		s, err := conn.Stream(q.Context(), name)
		if err == nil {
			info, err = s.Info(q.Context())
		}
		if err == nil {
			fmt.Fprintf(w, "haft_stream_messages{stream=%q} %d\nhaft_stream_bytes{stream=%q} %d\n", name, info.State.Msgs, name, info.State.Bytes)
		}
	}
}
