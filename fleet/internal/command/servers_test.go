//go:build linux

package command_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// natsVariable makes the test's program a plain NATS server with this configuration.
const natsVariable = "HAFT_FLEET_TEST_NATS"

func serveNATS(file string) {
	o, err := server.ProcessConfigFile(file)
	if err != nil {
		panic(err)
	}
	ns, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	ns.ConfigureLogger()
	ns.Start()
	ns.WaitForShutdown()
	os.Exit(0)
}

// A node is the process of a server that is started again and again.
type node struct {
	fleet   *fleet
	name    string
	address string
	monitor string // of a server of a cluster
	args    []string
	env     string
	cmd     *exec.Cmd
	stopped time.Time // when it has to be woken; zero if it runs
}

func (n *node) start() { n.cmd = n.fleet.startWith(n.env, n.args...) }

// restart kills a server and starts it again.
func (n *node) restart() {
	kill(n.cmd)
	n.stopped = time.Time{}
	n.start()
}

// startServer starts a server of the fleet's own.
func (f *fleet) startServer() {
	f.t.Helper()
	address := f.freeAddress()
	f.url = "nats://" + address
	n := &node{fleet: f, name: "haft", address: address, env: mainVariable + "=1",
		args: append([]string{"serve", "--listen", address, "--store", filepath.Join(f.dir, "store"), "--status", ""}, f.serveFlags...)}
	f.addServer(n)
}

func (f *fleet) addServer(n *node) {
	f.t.Helper()
	f.servers = append(f.servers, n)
	n.start()
	f.t.Cleanup(func() { kill(n.cmd) })
	waitFor(f.t, "the server to start", func() bool {
		c, err := net.Dial("tcp", n.address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// freeAddress is one that nobody uses; servers take it again and again. It is none that the system gives to clients:
// while a server is away, one of them could get it.
func (f *fleet) freeAddress() string {
	f.t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 10000+rand.IntN(20000))
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
}

// newKey makes a key and returns its public part.
func (f *fleet) newKey(name string) string {
	f.t.Helper()
	pair, err := nkeys.CreateUser()
	if err != nil {
		f.t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err == nil {
		err = os.WriteFile(filepath.Join(f.dir, "store", name+".nk"), seed, 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		f.t.Fatal(err)
	}
	return public
}

// startCluster starts three servers that keep three copies of everything, and the process
// that looks after them.
func (f *fleet) startCluster() {
	f.t.Helper()
	users := fmt.Sprintf("authorization { users: [{nkey: %s}, {nkey: %s}] }", f.newKey("operator"), f.newKey("worker"))
	var routes, urls, monitors []string
	for range 3 {
		routes = append(routes, f.freeAddress())
	}
	for i, route := range routes {
		n := &node{fleet: f, name: fmt.Sprintf("n%d", i), address: f.freeAddress(), monitor: f.freeAddress()}
		config := fmt.Sprintf("server_name: %s\nlisten: %q\nhttp: %q\njetstream { store_dir: %q, sync_interval: always }\n%s\n"+
			"cluster { name: haft, listen: %q, routes: [\"nats://%s\"] }\n", n.name, n.address, n.monitor, filepath.Join(f.dir, n.name), users, route, strings.Join(routes, `", "nats://`))
		file := filepath.Join(f.dir, n.name+".conf")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			f.t.Fatal(err)
		}
		n.env = natsVariable + "=" + file
		urls, monitors = append(urls, "nats://"+n.address), append(monitors, "http://"+n.monitor)
		f.addServer(n)
	}
	f.url = strings.Join(urls, ",")
	status := f.freeAddress()
	args := []string{"serve", "--nats", f.url, "--key", f.key("operator"), "--monitor", strings.Join(monitors, ","), "--status", status}
	f.keeper = f.start(args...)
	f.t.Cleanup(func() { kill(f.keeper) })
	waitFor(f.t, "the streams of the cluster", func() bool {
		res, err := http.Get("http://" + status + "/healthz")
		if err != nil {
			return false
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}
