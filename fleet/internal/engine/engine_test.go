package engine_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A server that acknowledges before it writes loses what it acknowledged when the power
// fails.
func TestAClusterThatMayLoseEntriesIsRefused(t *testing.T) {
	for _, always := range []bool{true, false} {
		ns, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, HTTPHost: "127.0.0.1", HTTPPort: server.RANDOM_PORT,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: always, NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		ns.Start()
		t.Cleanup(ns.Shutdown)
		if !ns.ReadyForConnections(20 * time.Second) {
			t.Fatal("the server does not start")
		}
		err = engine.CheckCluster(t.Context(), []string{"http://" + ns.MonitorAddr().String()})
		if always && err != nil {
			t.Errorf("a careful server: %v", err)
		}
		if !always && (err == nil || !strings.Contains(err.Error(), "sync_interval: always")) {
			t.Errorf("a careless server: %v", err)
		}
	}
	if err := engine.CheckCluster(t.Context(), nil); err == nil {
		t.Error("a cluster that nobody looked at is taken")
	}
}

// A cluster that everybody can reach must not be open to everybody.
func TestAnOpenClusterIsRefused(t *testing.T) {
	for want, o := range map[string]*server.Options{
		"without a key": {Host: "0.0.0.0"},
		"without TLS":   {Host: "0.0.0.0", Username: "u", Password: "p"},
		"max_payload":   {Host: "127.0.0.1", MaxPayload: 1000},
	} {
		o.Port, o.HTTPHost, o.HTTPPort, o.NoSigs, o.NoLog = server.RANDOM_PORT, "127.0.0.1", server.RANDOM_PORT, true, true
		o.JetStream, o.StoreDir, o.SyncAlways = true, t.TempDir(), true
		ns, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		ns.Start()
		t.Cleanup(ns.Shutdown)
		if !ns.ReadyForConnections(20 * time.Second) {
			t.Fatal("the server does not start")
		}
		if err := engine.CheckCluster(t.Context(), []string{"http://" + ns.MonitorAddr().String()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAServerForOthersNeedsTLS(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if srv, err := engine.Start(&engine.ServerOptions{Listen: listen, Store: t.TempDir()}); err == nil {
			srv.Close()
			t.Errorf("it listens on %s without TLS", listen)
		}
	}
}

// Tenants have the same names for their things, and see only their own.
func TestTenantsCannotSeeEachOther(t *testing.T) {
	store := t.TempDir()
	for range 2 { // the second time, everything already exists
		srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store, Tenants: []string{"red", "blue"}})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]uint64{}
		for _, tenant := range []string{"red", "blue", engine.DefaultTenant} {
			operator := connect(t, srv, srv.TenantKeys(tenant).Operator)
			if err := operator.Setup(t.Context(), 1, engine.Limits{}); err != nil {
				t.Fatalf("%s: %v", tenant, err)
			}
			worker := connect(t, srv, srv.TenantKeys(tenant).Worker)
			heard := make(chan string, 8)
			if _, err := worker.NATS.Subscribe("task.>", func(m *nats.Msg) { heard <- string(m.Data) }); err != nil {
				t.Fatal(err)
			}
			if err := worker.NATS.Flush(); err != nil {
				t.Fatal(err)
			}
			if tenant == "red" || seen["red"] == 0 {
				if _, err := worker.JS.Publish(t.Context(), "j.0.default.session.main", []byte(tenant)); err != nil {
					t.Fatalf("%s: %v", tenant, err)
				}
			}
			s, err := worker.Stream(t.Context(), engine.Journals(0))
			if err != nil {
				t.Fatal(err)
			}
			info, err := s.Info(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			seen[tenant] = info.State.Msgs
			if tenant == "blue" {
				if _, err := s.GetLastMsgForSubject(t.Context(), "j.0.default.session.main"); err == nil {
					t.Error("blue reads the journal of red")
				}
			}
			select {
			case m := <-heard:
				t.Errorf("%s hears %q", tenant, m)
			default:
			}
		}
		if seen["red"] == 0 || seen["blue"] != 0 || seen[engine.DefaultTenant] != 0 {
			t.Errorf("entries by tenant: %v", seen)
		}
		srv.Close()
	}
	if srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: t.TempDir(), Tenants: []string{"../up"}}); err == nil {
		srv.Close()
		t.Error("a tenant may be named ../up")
	}
}

func connect(t *testing.T, srv *engine.Server, key string) *engine.Conn {
	t.Helper()
	conn, err := engine.Connect(t.Context(), srv.URL(), &engine.ConnectOptions{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// A key is accepted, replaced and revoked while the server runs: who uses one that was revoked or has expired is
// disconnected.
func TestKeysChangeWithoutARestart(t *testing.T) {
	store := t.TempDir()
	red := engine.KeysIn(store, "red")
	if _, err := red.Add(engine.Key{Name: "builder", Role: engine.Worker}, time.Hour); err == nil {
		t.Error("a store without a server has a key")
	}
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store, Tenants: []string{"red", "blue"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	file, err := red.Add(engine.Key{Name: "builder", Role: engine.Worker}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	stolen := filepath.Join(t.TempDir(), "stolen.creds")
	steal := func() {
		t.Helper()
		raw, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(stolen, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	steal()
	open := func(key string) *engine.Conn {
		t.Helper()
		conn, err := soon(t, srv, key)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	used := open(file)
	if _, err := used.JS.CreateStream(deadline(t), jetstream.StreamConfig{Name: "MINE"}); err == nil {
		t.Error("a worker made a stream")
	}
	if again, err := red.Rotate("builder", time.Hour); err != nil || again != file {
		t.Fatalf("%s, %v", again, err)
	}
	open(file)
	open(stolen) // for another hour
	if !used.NATS.IsConnected() {
		t.Error("the worker lost its connection when its key was rotated")
	}
	steal()
	if err := red.Revoke("builder"); err != nil {
		t.Fatal(err)
	}
	wait(t, "the worker with the revoked key to be disconnected", func() bool { return !used.NATS.IsConnected() })
	if _, err := engine.Connect(deadline(t), srv.URL(), &engine.ConnectOptions{Key: stolen}); err == nil {
		t.Error("a key that was revoked still opens")
	}
	short, err := red.Add(engine.Key{Name: "short", Role: engine.Worker}, 3*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	brief := open(short)
	wait(t, "the worker with the expired key to be disconnected", func() bool { return !brief.NATS.IsConnected() })
	for _, bad := range []engine.Key{{Name: "", Role: engine.Worker}, {Name: "../up", Role: engine.Worker}, {Name: "A b", Role: engine.Worker}, {Name: "god", Role: "god"}, {Name: "any", Role: engine.Worker, Classes: []string{"*"}}} {
		if _, err := red.Add(bad, time.Hour); err == nil {
			t.Errorf("there is a key %+v", bad)
		}
	}
}

// A port that another program uses is reported at once.
func TestATakenPortIsReportedAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	srv, err := engine.Start(&engine.ServerOptions{Listen: l.Addr().String(), Store: t.TempDir()})
	if err == nil {
		srv.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "address already in use") || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// A key that was issued for one tenant, or signed by somebody else, opens nothing in another.
func TestKeysOfOthersAreRefused(t *testing.T) {
	store, other := t.TempDir(), t.TempDir()
	start := func(store string) *engine.Server {
		srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store, Tenants: []string{"red"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Close)
		return srv
	}
	srv, foreign := start(store), start(other)
	for _, key := range []string{foreign.Keys().Operator, foreign.TenantKeys("red").Operator, filepath.Join(store, "account.nk")} {
		if conn, err := engine.Connect(deadline(t), srv.URL(), &engine.ConnectOptions{Key: key}); err == nil {
			conn.Close()
			t.Errorf("%s opens another server", key)
		}
	}
	if conn, err := engine.Connect(deadline(t), srv.URL(), nil); err == nil {
		conn.Close()
		t.Error("it opens without a key")
	}
}

// soon connects with a key that the server may not have noticed yet.
func soon(t *testing.T, srv *engine.Server, key string) (conn *engine.Conn, err error) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if conn, err = engine.Connect(t.Context(), srv.URL(), &engine.ConnectOptions{Key: key}); err == nil {
			t.Cleanup(conn.Close)
			return conn, nil
		}
	}
	return nil, err
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// deadline is for what is not allowed, and so is not answered.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}

// The name of a fleet is that of its streams: it survives a restart, and no other store has it.
func TestAFleetHasAName(t *testing.T) {
	nameOf := func(store string) string {
		t.Helper()
		srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: store})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		conn, err := engine.Connect(t.Context(), srv.URL(), &engine.ConnectOptions{Key: srv.Keys().Operator})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Setup(t.Context(), 1, engine.Limits{}); err != nil {
			t.Fatal(err)
		}
		name, err := conn.Fleet(t.Context())
		if err != nil || !engine.Word(name) {
			t.Fatalf("the fleet is called %q, %v", name, err)
		}
		return name
	}
	store := t.TempDir()
	first, again, other := nameOf(store), nameOf(store), nameOf(t.TempDir())
	if first != again || first == other {
		t.Errorf("it is called %s, and after a restart %s; another one is called %s", first, again, other)
	}
}

// A program of another version that keeps runs in another way is refused before it does
// anything, and does not wait for that to pass.
func TestAnotherLayoutIsRefused(t *testing.T) {
	srv, err := engine.Start(&engine.ServerOptions{Listen: "127.0.0.1:0", Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	conn := connect(t, srv, srv.Keys().Operator)
	if err := conn.CheckLayout(t.Context()); err != nil {
		t.Errorf("a server without runs: %v", err)
	}
	if err := conn.Setup(t.Context(), 1, engine.Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := conn.CheckLayout(t.Context()); err != nil {
		t.Errorf("a server of this version: %v", err)
	}
	s, err := conn.JS.Stream(t.Context(), engine.Tasks)
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.Metadata["haft-layout"] = "99"
	if _, err := conn.JS.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	_, take := conn.Consumer(t.Context(), "class-any-normal", "task.any.normal.*", time.Minute)
	for what, err := range map[string]error{"join": conn.CheckLayout(t.Context()), "serve": conn.Setup(t.Context(), 1, engine.Limits{}), "take tasks": take} {
		if err == nil || !strings.Contains(err.Error(), "layout 99") || !strings.Contains(err.Error(), "use the server's version of haft-fleet") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Two servers on one store would acknowledge what the other one overwrites: the second one is refused, until the
// first one has ended.
func TestAStoreHasOneServer(t *testing.T) {
	o := &engine.ServerOptions{Listen: "127.0.0.1:0", Store: t.TempDir()}
	first, err := engine.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := engine.Start(o); err == nil || !strings.Contains(err.Error(), "another server uses the store "+o.Store) {
		if second != nil {
			second.Close()
		}
		t.Errorf("the second server: %v", err)
	}
	first.Close()
	third, err := engine.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	third.Close()
}
