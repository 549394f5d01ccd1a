package engine

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/haftdev/haft/internal/sys/loopback"
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
	// Quota is what each tenant may use.
	Quota Quota
	// Previous accepts the keys of the previous version, too.
	Previous bool
}

// A Quota limits a tenant, so that others have something left. Zero means a careful default, for Store none.
type Quota struct {
	Store       int64 // bytes on the disk
	Connections int
}

const (
	// usualConnections is how many a tenant may have unless it is said otherwise: those of a thousand workers.
	usualConnections = 2000
	// maxMemory is what consumers may keep in memory; no stream of the fleet is there.
	maxMemory = 16 << 20
	// maxStreams are a few more than the fleet has.
	maxStreams = 64
	// maxConsumers are those of classes and priorities, and of who watches.
	maxConsumers = 5000
)

// DefaultTenant is there always.
const DefaultTenant = "default"

// A Server is JetStream in this process.
type Server struct {
	options ServerOptions
	host    string
	port    int
	who     *authority
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
	if o.TLS == nil && !loopback.Host(host) {
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
	if s.who, err = newAuthority(o); err == nil {
		err = s.launch()
	}
	if err != nil {
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
	if s.port > 0 {
		l, err := net.Listen("tcp", net.JoinHostPort(s.host, strconv.Itoa(s.port)))
		if err != nil { // the engine would try again and again
			return fmt.Errorf("cannot listen: %w. Stop the other program, or choose another address with --listen", err)
		}
		l.Close()
	}
	ns, err := server.NewServer(&server.Options{
		ServerName: "haft", Host: s.host, Port: s.port, NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		JetStream: true, StoreDir: s.options.Store, SyncAlways: true, JetStreamMaxStore: anySize,
		CustomClientAuthentication: s.who, AlwaysEnableNonce: true, Accounts: s.who.accounts(), TLSConfig: s.options.TLS, TLS: s.options.TLS != nil,
	})
	if err != nil {
		return fmt.Errorf("could not start the server: %w", err)
	}
	if err := s.who.attach(ns); err != nil {
		return fmt.Errorf("could not start the server: %w", err)
	}
	ns.Start()
	if !ns.ReadyForConnections(startTime) {
		ns.Shutdown()
		return fmt.Errorf("the server did not start within %s", startTime)
	}
	for _, t := range s.who.tenants {
		if t.account.JetStreamEnabled() {
			err = t.account.UpdateJetStreamLimits(accountLimits(cmp.Or(s.options.Quota.Store, -1)))
		} else {
			err = t.account.EnableJetStream(accountLimits(cmp.Or(s.options.Quota.Store, -1)), nil)
		}
		if err != nil {
			ns.Shutdown()
			return fmt.Errorf("could not start the server for tenant %s: %w", t.name, err)
		}
	}
	s.nats, s.port = ns, ns.Addr().(*net.TCPAddr).Port
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

// URL is where clients connect.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nats.ClientURL()
}

// Keys returns the files of the keys of the default tenant.
func (s *Server) Keys() Keys { return s.TenantKeys(DefaultTenant) }

// TenantKeys returns the files of the keys of a tenant.
func (s *Server) TenantKeys(tenant string) Keys {
	keys := KeysIn(s.options.Store, tenant)
	return Keys{keys.File(string(Operator)), keys.File(string(Worker))}
}

// Full reports whether only the reserve of the disk is left, so that nothing is written.
func (s *Server) Full() bool { return s.Room() == 0 }

// Room is how much may still be written, a lot if that is not known.
func (s *Server) Room() int64 {
	size, free, ok := diskSpace(s.options.Store)
	if !ok {
		return anySize
	}
	return max(0, free-reserve(size))
}

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
		s.keepKeys()
		if !ok {
			continue
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
	for _, t := range s.who.tenants {
		used := int64(t.account.JetStreamUsage().Store)
		// Without JetStream there is nothing to limit, and a failure is the state before.
		_ = t.account.UpdateJetStreamLimits(accountLimits(s.mostOf(max(1, used+max(0, room)))))
	}
}

// mostOf is how much a tenant may store if the disk has room for so much.
func (s *Server) mostOf(room int64) int64 {
	if q := s.options.Quota.Store; q > 0 {
		return min(q, room)
	}
	return room
}

func accountLimits(store int64) map[string]server.JetStreamAccountLimits {
	return map[string]server.JetStreamAccountLimits{"": {
		MaxMemory: maxMemory, MaxStore: store, MaxStreams: maxStreams, MaxConsumers: maxConsumers, MaxAckPending: -1, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1,
	}}
}

// keepKeys takes notice of keys that were added or revoked.
func (s *Server) keepKeys() {
	lost, err := s.who.refresh()
	if err != nil {
		return // the keys stay those that they were; the disk may be full
	}
	for _, id := range lost {
		_ = s.nats.DisconnectClientByID(id) // or it has gone
	}
	s.who.forget(func(id uint64) bool { return s.nats.GetClient(id) != nil })
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

const (
	// anySize is more than any disk has: how much there is room for is decided here.
	anySize = math.MaxInt64 / 4
	// roomTime is how often the disk is looked at.
	roomTime = 250 * time.Millisecond
)
