package api

import (
	"context"
	"time"

	"github.com/haftdev/haft/internal/front/serve"
)

// A watcher is one of a session.
type watcher struct {
	serve.Watcher
	id    string
	ctx   context.Context
	asked map[string]*asking // questions that were put to it; under the backend's lock
}

// asking is a question that a watcher has not answered yet.
type asking struct{ cancel context.CancelFunc }

// restTime is how long a worker may take to say that it has nothing more to do.
const restTime = 5 * time.Second
