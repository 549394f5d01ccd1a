package script

import (
	"sync"

	"github.com/haftdev/haft/internal/strictapi"
)

// A judge refuses what the Messages API would refuse. A nil judge takes everything.
type judge struct {
	memory *strictapi.Memory

	mu      sync.Mutex
	refused []string
}
