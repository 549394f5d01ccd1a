package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/spf13/cobra"
)

type serveFlags struct {
	listen, store, nats, key, cert, certKey, ca, status string
	monitors, tenants                                   []string
	limits                                              engine.Limits
	replicas                                            int
	quota                                               engine.Quota
	previous                                            bool
	server                                              *engine.Server // the built-in one; nil with --nats
	retention                                           retention
	share                                               int
	api                                                 apiFlags
}

func newServe(out io.Writer) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the server of a fleet, which stores its journals and queues", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), out) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:4222", "address for workers and clients")
	flags.StringVar(&f.store, "store", defaultStore(), "folder for all of the server's data")
	flags.StringVar(&f.nats, "nats", "", "use this NATS cluster instead of the built-in server")
	flags.StringSliceVar(&f.monitors, "monitor", nil, "with --nats: monitoring address of each server, such as http://10.0.0.1:8222")
	flags.StringVar(&f.key, "key", "", "with --nats: key file")
	flags.IntVar(&f.replicas, "replicas", 0, "number of copies of all data; defaults to 1, or 3 with --nats")
	flags.StringVar(&f.cert, "tls-cert", "", "the server's TLS certificate")
	flags.StringVar(&f.certKey, "tls-key", "", "key of the TLS certificate")
	flags.StringVar(&f.ca, "tls-ca", "", "with --nats: CA certificate that signed the cluster's certificates")
	flags.StringVar(&f.status, "status", "127.0.0.1:4280", "address for /livez, /readyz and /metrics; \"\" turns them off. On the network, they need --tls-cert, and /metrics the token in metrics.token in the store")
	flags.StringVar(&f.api.listen, "http", "", "address for the page and the HTTP API of 'haft serve', such as 127.0.0.1:4281; \"\" turns them off. See also 'haft-fleet api'")
	f.api.addHost(cmd)
	flags.StringSliceVar(&f.tenants, "tenant", []string{engine.DefaultTenant}, "name of a tenant to serve; may be repeated. Each tenant has its own keys, in tenants/NAME in the store (default: in the store itself)")
	flags.IntVar(&f.limits.Queued, "max-queued", 0, "maximum number of unfinished runs per tenant; 0 means no limit")
	flags.IntVar(&f.limits.Running, "max-running", 0, "maximum number of runs in progress per tenant, for each label and priority; 0 means no limit")
	flags.Var((*sizeValue)(&f.quota.Store), "max-store", "how much each tenant may store, such as 50G; 0 means as much as the disk has room for")
	flags.IntVar(&f.quota.Connections, "max-connections", 0, "maximum number of connections per tenant; 0 means 2000")
	flags.IntVar(&f.share, "fair-share", 32, "number of unfinished runs of one user after which their next ones wait behind those of other users; 0 means no limit")
	flags.DurationVar(&f.retention.after, "archive-after", 30*24*time.Hour, "archive runs that have had nothing to do for so long; 0 means never")
	flags.StringVar(&f.retention.to, "archive-to", "", "folder or s3://BUCKET/PREFIX for archived runs (default: archive in the store; with --nats, runs are archived only if this is given)")
	flags.BoolVar(&f.previous, "accept-previous", false, "accept the keys and workers of the previous version, which have more rights; for the time of an upgrade only")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, out io.Writer) error {
	if f.nats != "" && (f.cert != "" || f.certKey != "") {
		return errors.New("--tls-cert and --tls-key are for the built-in server. With --nats, give the cluster's CA certificate with --tls-ca")
	}
	if f.nats != "" && len(f.tenants) != 1 {
		return errors.New("with --nats, tenants are accounts in the cluster: start one 'haft-fleet serve' for each tenant, with its --tenant and --key")
	}
	if f.api.listen != "" && len(f.tenants) != 1 {
		return errors.New("--http serves only one tenant: start 'haft-fleet api' for each tenant, with its --key")
	}
	if f.limits.Previous = f.previous; f.previous {
		f.share = 0 // older workers do not look where the others wait
	}
	conns, stop, err := f.connect(ctx, out)
	defer stop()
	if err != nil {
		return err
	}
	replicas := f.replicas
	if replicas == 0 {
		replicas = 1
		if f.nats != "" {
			replicas = 3
		}
	}
	var ready atomic.Bool
	if f.status != "" {
		token, err := metricsToken(f.store)
		if err != nil {
			return err
		}
		page := &statusPage{listen: f.status, cert: f.cert, key: f.certKey, token: token, metrics: serverMetrics(f.server, conns), ready: func(ctx context.Context) error {
			if err := canTakePrompts(ctx, f.server, conns); err != nil || ready.Load() {
				return err
			}
			return errors.New("the server is starting")
		}}
		if err := page.serve(ctx); err != nil {
			return err
		}
	}
	for _, c := range conns {
		if err := f.setUp(ctx, c, replicas); err != nil {
			return err
		}
	}
	ready.Store(true)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	log := logger()
	var keeping sync.WaitGroup
	if f.api.listen != "" {
		f.api.dir, f.api.cert, f.api.certKey = filepath.Join(f.store, "api"), f.cert, f.certKey
		keeping.Go(func() { end(f.api.run(ctx, out, conns[0].conn, conns[0].runs.Tenant())) })
	}
	fmt.Fprintln(out, "ready")
	for _, c := range conns {
		keeping.Go(func() {
			c.index.Keep(ctx, func(err error) { log.Warn("could not watch the runs", "tenant", c.name, "error", err) })
		})
		keeping.Go(func() { sweep(ctx, c, log) })
		keeping.Go(func() {
			if err := c.runs.Serve(ctx, c.metrics.served); err != nil {
				end(err)
			}
		})
		keeping.Go(func() { keepCollecting(ctx, c, log) })
		keeping.Go(func() { f.retentionOf(c).keep(ctx, c, log) })
		keeping.Go(func() {
			c.runs.KeepSchedules(ctx, func(err error) { log.Warn("could not submit scheduled runs", "tenant", c.name, "error", err) })
		})
	}
	keeping.Go(func() { giveBack(ctx) })
	keeping.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// setUp makes the streams of a tenant. On a full disk the server waits until there is room: it can be read meanwhile, and
// says what is wrong.
func (f *serveFlags) setUp(ctx context.Context, c tenantConn, replicas int) error {
	for told := false; ; told = true {
		err := c.conn.Setup(ctx, replicas, f.limits)
		if err == nil || f.server == nil || !f.server.Full() && !engine.NoRoom(err) {
			return err
		}
		if !told {
			logger().Warn("the disk is full; waiting for room", "tenant", c.name, "error", err)
		}
		if err := engine.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// retentionOf is the retention of a tenant, whose archive is apart from those of others.
func (f *serveFlags) retentionOf(c tenantConn) retention {
	p := f.retention
	switch {
	case p.to == "" && f.server == nil:
		return retention{}
	case p.to == "":
		p.to = filepath.Join(f.store, "archive")
	}
	if c.name != engine.DefaultTenant {
		p.to = strings.TrimSuffix(p.to, "/") + "/" + c.name
	}
	return p
}

// giveBack returns memory to the system when the server rests: what it needed for the work
// would be kept for minutes, and thousands of idle sessions need little.
func giveBack(ctx context.Context) {
	var last, given uint64
	var m runtime.MemStats
	for engine.Pause(ctx, 10*time.Second) == nil {
		runtime.ReadMemStats(&m)
		if rests := m.TotalAlloc-last < restsBelow; rests && m.TotalAlloc-given > restsBelow {
			debug.FreeOSMemory()
			given = m.TotalAlloc
		}
		last = m.TotalAlloc
	}
}

// restsBelow is how much a server allocates in ten seconds that only looks after itself.
const restsBelow = 32 << 20

// A tenantConn is a connection as the operator of a tenant.
type tenantConn struct {
	name string
	conn *engine.Conn
	runs *runs.Runs

	index   *runs.Index
	metrics *tenantMetrics
}

// connect starts a server, or checks those of a cluster, and connects for each tenant.
func (f *serveFlags) connect(ctx context.Context, out io.Writer) (conns []tenantConn, stop func(), err error) {
	var closers []func()
	stop = func() {
		for _, c := range closers {
			defer c()
		}
	}
	url, o := f.nats, &engine.ConnectOptions{Key: f.key, Name: "haft-fleet serve"}
	var srv *engine.Server
	if f.nats == "" {
		if srv, o.TLS, err = f.start(); err != nil {
			return nil, stop, err
		}
		closers, url, f.server = append(closers, srv.Close), srv.URL(), srv
	} else {
		if err = engine.CheckCluster(ctx, f.monitors); err == nil {
			o.TLS, err = authority(f.ca)
		}
		if err != nil {
			return nil, stop, err
		}
	}
	for _, tenant := range f.tenants {
		if srv != nil {
			o.Key = srv.TenantKeys(tenant).Operator
			fmt.Fprintf(out, "serving %s at %s\nworkers join with: haft-fleet worker --join %s --key %s\n", tenant, url, url, srv.TenantKeys(tenant).Worker)
		}
		conn, err := engine.Connect(ctx, url, o)
		if err != nil {
			return nil, stop, err
		}
		closers = append(closers, conn.Close)
		// The account keeps tenants apart, so the names in it are the same for all. In a
		// cluster they are what the operator says.
		name := tenant
		if srv != nil {
			name = engine.DefaultTenant
		}
		r := runs.New(conn, name)
		m := newTenantMetrics()
		conns = append(conns, tenantConn{tenant, conn, r, runs.NewIndex(r, f.share, m.note), m})
	}
	return conns, stop, nil
}

// start starts a server in this process and returns how to connect to it.
func (f *serveFlags) start() (*engine.Server, *tls.Config, error) {
	o := &engine.ServerOptions{Listen: f.listen, Store: f.store, Tenants: f.tenants, Quota: f.quota, Previous: f.previous}
	var connect *tls.Config
	if f.cert != "" || f.certKey != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.certKey)
		if err != nil {
			return nil, nil, fmt.Errorf("could not read the TLS certificate: %w", err)
		}
		o.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
		connect = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13} // the server is in this process
	}
	makeRoomForWrites()
	if err := noteStore(f.store); err != nil {
		return nil, nil, fmt.Errorf("could not note where the store is: %w", err)
	}
	srv, err := engine.Start(o)
	return srv, connect, err
}

// makeRoomForWrites lets the server work while it waits for the disk. A goroutine in a system call
// keeps its share of the processors until the runtime notices, and every stream waits for its own
// writes: with as many shares as processors, most goroutines that could run wait for one. A user
// who sets GOMAXPROCS has the last word.
func makeRoomForWrites() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + engine.Shards)
	}
}

// collectTime is how often stored files are looked for that nothing needs: those of runs that were
// deleted, and what 'runs archive' could not remove.
const collectTime = time.Hour

// keepCollecting removes stored files that nothing needs, until ctx ends.
func keepCollecting(ctx context.Context, c tenantConn, log *slog.Logger) {
	for engine.Pause(ctx, collectTime) == nil {
		switch freed, err := collect(ctx, c.runs, journal.New(c.conn, c.runs.Tenant(), nil)); {
		case err != nil && ctx.Err() == nil:
			log.Warn("could not remove unused stored files", "tenant", c.name, "error", err)
		case freed.Objects > 0:
			log.Info("removed unused stored files", "tenant", c.name, "objects", freed.Objects, "bytes", freed.Bytes)
		}
	}
}

// sweep looks for runs that a worker left without a task, until ctx ends: at all of them now and then, and in between at
// those with something to do.
func sweep(ctx context.Context, c tenantConn, log *slog.Logger) {
	looked := time.Time{}
	for ok := true; ok; ok = engine.Pause(ctx, 5*time.Second) == nil {
		all := time.Since(looked) > sweepTime
		switch made, err := c.index.Sweep(ctx, all); {
		case errors.Is(err, runs.ErrNotReady):
			continue
		case err != nil && ctx.Err() == nil:
			log.Warn("could not check for runs without tasks", "tenant", c.name, "error", err)
			continue
		case made > 0:
			c.metrics.remade.Add(float64(made))
			log.Info("created tasks for runs that had none", "tenant", c.name, "runs", made)
		}
		if all {
			looked = time.Now()
		}
	}
}

// sweepTime is how often all runs are looked at.
const sweepTime = time.Hour
