package servers

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// updates are the resources that the model has read, and which of them have changed since.
type updates struct {
	ends sync.WaitGroup // of subscriptions that are being made

	mu      sync.Mutex
	read    []resource
	changed []resource
}

// A resource is one of a server.
type resource struct{ server, uri string }

const (
	// maxFollowed is how many resources are followed: the oldest is given up for another.
	maxFollowed = 100
	// maxUpdates is how many resources a reminder names.
	maxUpdates = 20
	// subscribeTime is how long a server may take for a subscription, which nobody waits for.
	subscribeTime = 10 * time.Second
)

// follow notes that a resource is as the model knows it.
func (u *updates) follow(r resource) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(r)
	if u.read = append(u.read, r); len(u.read) > maxFollowed {
		u.read = slices.Delete(u.read, 0, 1)
	}
}

func (u *updates) forget(r resource) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.drop(r)
}

func (u *updates) drop(r resource) {
	same := func(o resource) bool { return o == r }
	u.read, u.changed = slices.DeleteFunc(u.read, same), slices.DeleteFunc(u.changed, same)
}

// update notes that a server says that a resource, or a part of one, has changed. What the
// model has not read, or knows to have changed, is no news.
func (u *updates) update(server, uri string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.read, func(r resource) bool {
		return r.server == server && (r.uri == uri || strings.HasPrefix(uri, strings.TrimSuffix(r.uri, "/")+"/"))
	})
	if i >= 0 {
		u.changed = append(u.changed, u.read[i])
		u.read = slices.Delete(u.read, i, i+1)
	}
}

// tell names the resources that have changed, each once until it is read again.
func (u *updates) tell() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.changed) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("These MCP resources have changed since they were read. Read one again with ReadMcpResource if you still need it:")
	for _, r := range u.changed[:min(len(u.changed), maxUpdates)] {
		fmt.Fprintf(&b, "\n- %s of the server %s", reminderTags.Replace(cut(r.uri, maxCause)), r.server)
	}
	if more := len(u.changed) - maxUpdates; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	u.changed = nil
	return []string{b.String()}
}
