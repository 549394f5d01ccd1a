package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// ServerOptions say where a server is.
type ServerOptions struct {
	// Listen is host and port; "" means 127.0.0.1:4222, port 0 chooses one.
	Listen string
	// Store is the folder of everything that is kept.
	Store string
	// TLS is the certificate of a server that others can reach; nil means none.
	TLS *tls.Config
	// Tenants are those besides [DefaultTenant]. Each has an account of its own: what is in
	// one cannot be reached from another.
	Tenants []string
}

// DefaultTenant is there always.
const DefaultTenant = "default"

// A Server is JetStream in this process.
type Server struct {
	options ServerOptions
	host    string
	port    int
	keys    map[string]Keys
	lock    *flock.Flock // on the store
	stop    chan struct{}
	kept    sync.WaitGroup // what looks after the disk

	mu   sync.Mutex
	nats *server.Server
}

// Keys are the files of the keys that a server knows.
type Keys struct{ Operator, Worker string }

// Start starts a server. What it acknowledges is on the disk.
func Start(o *ServerOptions) (*Server, error) {
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:4222"
	}
	host, port, err := splitAddress(listen)
	if err != nil {
		return nil, err
	}
	if o.TLS == nil && !isLoopback(host) {
		return nil, fmt.Errorf("cannot listen on %s without TLS: other machines would send keys and journals in the clear. Give --tls-cert and --tls-key, or listen on 127.0.0.1", listen)
	}
	if err := os.MkdirAll(o.Store, 0o700); err != nil {
		return nil, fmt.Errorf("could not create the store: %w", err)
	}
	lock, err := lockStore(o.Store)
	if err != nil {
		return nil, err
	}
	s := &Server{options: *o, host: host, port: port, lock: lock, stop: make(chan struct{})}
	if err := s.launch(); err != nil {
		lock.Close()
		return nil, err
	}
	s.kept.Go(s.keepRoom)
	return s, nil
}

// lockStore keeps other servers off a store until the lock is closed or the process ends: two
// engines on the same files acknowledge what the other one overwrites.
func lockStore(store string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(store, "serve.lock"), flock.SetPermissions(0o600))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("could not lock the store: %w", err)
	case !ok:
		return nil, fmt.Errorf("another server uses the store %s. Stop it first, or give this one another --store", store)
	}
	return lock, nil
}

// launch starts the engine. It takes the same port each time.
func (s *Server) launch() error {
	keys, users, accounts, err := loadAccounts(&s.options)
	if err != nil {
		return err
	}
	ns, err := server.NewServer(&server.Options{
		ServerName: "haft", Host: s.host, Port: s.port, NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		JetStream: true, StoreDir: s.options.Store, SyncAlways: true, JetStreamMaxStore: anySize,
		Nkeys: users, Accounts: accounts, TLSConfig: s.options.TLS, TLS: s.options.TLS != nil,
	})
	if err != nil {
		return fmt.Errorf("could not start the server: %w", err)
	}
	ns.Start()
	if !ns.ReadyForConnections(startTime) {
		ns.Shutdown()
		return fmt.Errorf("the server did not start within %s; is %s:%d in use by another program?", startTime, s.host, s.port)
	}
	for tenant := range keys {
		account, err := accountOf(ns, tenant)
		if err == nil && !account.JetStreamEnabled() {
			err = account.EnableJetStream(storeLimit(-1), nil)
		}
		if err != nil {
			ns.Shutdown()
			return fmt.Errorf("could not start the server for tenant %s: %w", tenant, err)
		}
	}
	s.nats, s.port = ns, ns.Addr().(*net.TCPAddr).Port
	if s.keys == nil { // they are the same each time
		s.keys = keys
	}
	return nil
}

func accountOf(ns *server.Server, tenant string) (*server.Account, error) {
	if tenant == DefaultTenant {
		return ns.GlobalAccount(), nil
	}
	return ns.LookupAccount(tenant)
}

const (
	startTime  = 20 * time.Second
	maxPayload = 1 << 20
)

func splitAddress(listen string) (host string, port int, err error) {
	addr, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return "", 0, fmt.Errorf("cannot listen on %q: %w", listen, err)
	}
	host, _, _ = net.SplitHostPort(listen) // it was resolved
	if host == "" {
		host = "0.0.0.0"
	}
	if addr.Port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, addr.Port, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// URL is where clients connect.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats.ClientURL()
}

// Keys returns the files of the keys of the default tenant.
func (s *Server) Keys() Keys { return s.keys[DefaultTenant] }

// TenantKeys returns the files of the keys of a tenant.
func (s *Server) TenantKeys(tenant string) Keys { return s.keys[tenant] }

// Close ends the server.
func (s *Server) Close() {
	close(s.stop)
	s.kept.Wait()
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	s.lock.Close()
}

// keepRoom lets tenants write as much as the disk has room for, less a reserve, until the
// server ends. A write that the disk itself refuses is not answered, and its stream takes no
// other until the engine is started again; a limit is an answer, and passes when it is lifted.
// If the disk was faster, the engine is started again when there is room.
func (s *Server) keepRoom() {
	tick := time.NewTicker(roomTime)
	defer tick.Stop()
	wasShort := false
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		size, free, ok := diskSpace(s.options.Store)
		if !ok {
			return
		}
		room := free - reserve(size)
		if room > 0 && wasShort && s.broken() {
			_ = s.relaunch() // or in a moment
			continue
		}
		wasShort = room <= 0 || wasShort && s.broken()
		s.limit(room)
	}
}

// reserve is how much of a disk is left for what the engine writes besides.
func reserve(size int64) int64 { return min(max(size/20, 8<<20), 256<<20) }

// limit lets each tenant write so much more.
func (s *Server) limit(room int64) {
	for tenant := range s.keys {
		account, err := accountOf(s.nats, tenant)
		if err != nil {
			continue // it has gone
		}
		used := int64(account.JetStreamUsage().Store)
		// Without JetStream there is nothing to limit, and a failure is the state before.
		_ = account.UpdateJetStreamLimits(storeLimit(max(1, used+max(0, room))))
	}
}

func storeLimit(most int64) map[string]server.JetStreamAccountLimits {
	return map[string]server.JetStreamAccountLimits{"": {MaxMemory: -1, MaxStore: most, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1}}
}

// broken reports whether the disk refused a write.
func (s *Server) broken() bool {
	return !s.nats.JetStreamEnabled() || s.nats.Healthz(&server.HealthzOptions{}).Status != "ok"
}

// relaunch starts the engine again at the same address. Who is connected connects again.
func (s *Server) relaunch() error {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.launch()
}

// loadAccounts makes the keys of each tenant, once.
func loadAccounts(o *ServerOptions) (keys map[string]Keys, users []*server.NkeyUser, accounts []*server.Account, err error) {
	keys = map[string]Keys{}
	for _, tenant := range append([]string{DefaultTenant}, o.Tenants...) {
		if _, ok := keys[tenant]; ok {
			continue
		}
		if tenant == "" || strings.Trim(tenant, tenantLetters) != "" {
			return nil, nil, nil, fmt.Errorf("%q is not a valid tenant name: use lower-case letters, digits and -", tenant)
		}
		dir, account := o.Store, (*server.Account)(nil)
		if tenant != DefaultTenant {
			dir, account = filepath.Join(o.Store, "tenants", tenant), server.NewAccount(tenant)
			accounts = append(accounts, account)
		}
		k := Keys{Operator: filepath.Join(dir, "operator.nk"), Worker: filepath.Join(dir, "worker.nk")}
		operator, err := loadKey(k.Operator)
		if err != nil {
			return nil, nil, nil, err
		}
		worker, err := loadKey(k.Worker)
		if err != nil {
			return nil, nil, nil, err
		}
		keys[tenant] = k
		users = append(users, &server.NkeyUser{Nkey: operator, Account: account}, &server.NkeyUser{Nkey: worker, Account: account, Permissions: workerPermissions()})
		own, err := filepath.Glob(filepath.Join(dir, workerKeys, "*.nk"))
		if err != nil {
			return nil, nil, nil, fmt.Errorf("could not find the workers' keys: %w", err)
		}
		for _, file := range own {
			public, err := loadKey(file)
			if err != nil {
				return nil, nil, nil, err
			}
			users = append(users, &server.NkeyUser{Nkey: public, Account: account, Permissions: workerPermissions()})
		}
	}
	return keys, users, accounts, nil
}

// workerKeys is the folder of the keys of single workers.
const workerKeys = "workers"

// AddWorkerKey makes a key for one worker of a tenant, in the store of a server, which knows it
// when it next starts. To take the key away, remove the file and start the server again.
func AddWorkerKey(store, tenant, worker string) (file string, err error) {
	if worker == "" || strings.Trim(worker, tenantLetters) != "" {
		return "", fmt.Errorf("%q is not a valid worker name: use lower-case letters, digits and -", worker)
	}
	dir := store
	if tenant != DefaultTenant {
		dir = filepath.Join(store, "tenants", tenant)
	}
	if _, err := os.Stat(filepath.Join(dir, "worker.nk")); err != nil {
		return "", fmt.Errorf("%s is not the store of a server with the tenant %s. Start 'haft-fleet serve' first", store, tenant)
	}
	file = filepath.Join(dir, workerKeys, worker+".nk")
	_, err = loadKey(file)
	return file, err
}

const tenantLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// workerPermissions let a worker read and write what sessions need, and neither make nor
// delete streams.
func workerPermissions() *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{
			Allow: []string{"j.>", "w.>", "p.>", "r.>", "task.>", "$KV.>", "$O.>", "$JS.ACK.>", "$JS.API.>", "_INBOX.>"},
			Deny: []string{"$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.PURGE.>",
				"$JS.API.STREAM.MSG.DELETE.>", "$JS.API.STREAM.SNAPSHOT.>", "$JS.API.STREAM.RESTORE.>", "$JS.API.CONSUMER.DELETE.TASKS.>"},
		},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "ctl.>", "live.>", "task.>"}},
	}
}

// loadKey reads a key's file, or makes it, and returns its public part.
func loadKey(path string) (string, error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return "", fmt.Errorf("could not create a key: %w", err)
		}
		if seed, err = pair.Seed(); err != nil {
			return "", fmt.Errorf("could not create a key: %w", err)
		}
		if err := WriteFile(path, seed); err != nil {
			return "", fmt.Errorf("could not save a key: %w", err)
		}
	} else if err != nil {
		return "", fmt.Errorf("could not read a key: %w", err)
	}
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", fmt.Errorf("could not read the key %s: %w", path, err)
	}
	return pair.PublicKey()
}

const (
	// anySize is more than any disk has: how much there is room for is decided here.
	anySize = math.MaxInt64 / 4
	// roomTime is how often the disk is looked at.
	roomTime = 250 * time.Millisecond
)
