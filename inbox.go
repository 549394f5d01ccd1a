package haft

import "sync"

// An inbox holds messages until they are read. It has no limit: a message must never keep
// the answers behind it from arriving.
type inbox struct {
	mu      sync.Mutex
	waiting []Message
	ended   bool
	err     error
	// changed is closed and replaced whenever something above changes.
	changed chan struct{}
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{})} }

func (b *inbox) put(m Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.waiting = append(b.waiting, m)
		b.wakeLocked()
	}
}

func (b *inbox) wakeLocked() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// next waits for a message. At the end it returns none, and err says why the conversation
// ended.
func (b *inbox) next() (m Message, ok bool, err error) {
	for {
		b.mu.Lock()
		if len(b.waiting) > 0 {
			m, b.waiting[0] = b.waiting[0], nil
			b.waiting = b.waiting[1:]
			b.mu.Unlock()
			return m, true, nil
		}
		ended, err, changed := b.ended, b.err, b.changed
		b.mu.Unlock()
		if ended {
			return nil, false, err
		}
		<-changed
	}
}

// why is the error with which the conversation ended.
func (b *inbox) why() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// end records that no more messages will come, and why. Queued messages can still be read.
// Only the first end counts.
func (b *inbox) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended, b.err = true, err
		b.wakeLocked()
	}
}
