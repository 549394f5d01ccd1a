package runs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// A share keeps one user from filling the queue: a user with as many unfinished runs as it says gets those that follow
// behind the runs of others. It is part of an [Index].
type share struct {
	most     int                 // 0 means that there is no limit
	expected map[string]expected // runs that users are about to make, until they are known
}

type expected struct {
	user string
	at   time.Time
}

// shareQuery asks whether a new run of a user has to wait behind those of others.
type shareQuery struct {
	Run  string `json:"run"`
	User string `json:"user"`
}

// shareTime is how long the server may take to answer that, expectTime how long a user to make the run.
const (
	shareTime  = time.Second
	expectTime = time.Minute
)

// full reports whether a user has as many unfinished runs as they may have at once, and expects another one.
func (x *Index) full(q *shareQuery) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.share.most <= 0 {
		return false
	}
	has := 0
	for _, run := range x.active {
		if run.By == q.User {
			has++
		}
	}
	for id, e := range x.share.expected {
		if time.Since(e.at) > expectTime {
			delete(x.share.expected, id)
		} else if e.user == q.User && id != q.Run {
			has++
		}
	}
	x.share.expected[q.Run] = expected{q.User, time.Now()}
	return has >= x.share.most
}

// serveShares answers until ctx ends.
func (x *Index) serveShares(ctx context.Context) error {
	sub, err := x.runs.conn.NATS.QueueSubscribe(x.runs.shares(), "serve", func(m *nats.Msg) {
		var q shareQuery
		answer := "false"
		if json.Unmarshal(m.Data, &q) == nil && engine.Word(q.Run) && x.full(&q) {
			answer = "true"
		}
		_ = m.Respond([]byte(answer)) // who has gone does without
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() }) // the connection may be gone
	return nil
}
