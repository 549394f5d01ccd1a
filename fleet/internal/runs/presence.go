package runs

import (
	"time"
)

// A WorkerStatus is how a worker is.
type WorkerStatus struct {
	Worker   string   `json:"worker"`
	Host     string   `json:"host"`
	Classes  []string `json:"classes"`
	Slots    int      `json:"slots"`
	Free     int      `json:"free"`
	Draining bool     `json:"draining,omitempty"`
}

// presenceTime is how long a worker may take to say that it is there, gatherTime how long all together may.
const (
	presenceTime = 2 * time.Second
	gatherTime   = 250 * time.Millisecond
)

// waits begins the reason of a run that no worker can take.
const waits = "Waiting for a worker"
