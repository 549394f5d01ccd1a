package haft

import (
	"context"
	"errors"
	"math"
	"sync"
)

// ErrBudget is why a query or client does not start when its Options.Budget is spent.
var ErrBudget = errors.New("the budget is spent")

// A Budget is what several queries and clients may cost together; see Options.Budget. Each
// sets aside what it may cost, its MaxBudgetUSD or all that is left, and returns at its end what
// it has not spent. One that ends without a result counts as having spent all of it. A budget can
// be exceeded by the last request of each, because a cost is known only afterwards. Budgets are
// safe for concurrent use.
type Budget struct {
	mu          sync.Mutex
	total       float64
	spent, held float64
	changed     chan struct{} // closed and replaced whenever something is returned
}

// NewBudget returns a budget in US dollars.
func NewBudget(usd float64) *Budget { return &Budget{total: usd, changed: make(chan struct{})} }

// Spent returns what has been spent by queries and clients that have ended.
func (b *Budget) Spent() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// hold sets aside up to most, or all that is left if most is 0. While others hold what is left,
// it waits for them.
func (b *Budget) hold(ctx context.Context, most float64) (float64, error) {
	for {
		b.mu.Lock()
		free, others, changed := b.total-b.spent-b.held, b.held > 0, b.changed
		want := free
		if most > 0 {
			want = min(most, b.total-b.spent)
		}
		want = math.Round(want*1e6) / 1e6 // without what sums leave behind
		if want > 0 && want <= free+1e-6 {
			b.held += want
			b.mu.Unlock()
			return want, nil
		}
		b.mu.Unlock()
		if !others {
			return 0, ErrBudget
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// settle returns what was set aside, less what was spent.
func (b *Budget) settle(held, spent float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= held
	b.spent += spent
	if b.held < 1e-6 {
		b.held = 0
	}
	close(b.changed)
	b.changed = make(chan struct{})
}
