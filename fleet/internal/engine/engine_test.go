package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

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

func TestAServerForOthersNeedsTLS(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if srv, err := engine.Start(&engine.ServerOptions{Listen: listen, Store: t.TempDir()}); err == nil {
			srv.Close()
			t.Errorf("it listens on %s without TLS", listen)
		}
	}
}
