package engine

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

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
	return strings.Contains(api.Description, syscall.ENOSPC.Error()) // what the disk itself refuses has no code of its own
}

// Explain names the cause of a refusal.
func Explain(err error) error {
	if NoRoom(err) && !errors.Is(err, ErrNoRoom) {
		return fmt.Errorf("%w (%w)", ErrNoRoom, err)
	}
	return err
}
