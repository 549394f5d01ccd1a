package engine

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrNoRoom says that the server takes nothing more because its disk is full.
var ErrNoRoom = errors.New("the server's disk is full; free some space there, and the fleet continues by itself")

// NoRoom reports whether something was refused because the disk of the server is full.
func NoRoom(err error) bool {
	if errors.Is(err, ErrNoRoom) {
		return true
	}
	const accountExceeded, serverExceeded, storageExceeded = 10002, 10023, 10047
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case accountExceeded, serverExceeded, storageExceeded:
		return true
	}
	return false
}

// Explain names the cause of a refusal.
func Explain(err error) error {
	if NoRoom(err) && !errors.Is(err, ErrNoRoom) {
		return fmt.Errorf("%w (%w)", ErrNoRoom, err)
	}
	return err
}

const (
	// anySize is more than any disk has: how much there is room for is decided here.
	anySize = math.MaxInt64 / 4
	// roomTime is how often the disk is looked at.
	roomTime = 250 * time.Millisecond
)

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
