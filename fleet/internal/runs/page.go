package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// A Query says which runs a page has.
type Query struct {
	State State `json:"state,omitempty"` // "" means any
	// Before is where the page before ended; "" means the newest runs.
	Before string `json:"before,omitempty"`
	// Limit is how many runs a page has at most; 0 means [MaxPage].
	Limit int `json:"limit,omitempty"`
}

// MaxPage is how many runs a page can have.
const MaxPage = 1000

// A spot is where a run is in a list, the one that changed last first.
type spot struct {
	updated int64
	id      string
}

func (s spot) String() string { return strconv.FormatInt(s.updated, 36) + "." + s.id }

func compareSpots(a, b spot) int {
	return cmp.Or(cmp.Compare(b.updated, a.updated), strings.Compare(a.id, b.id))
}

func parseSpot(text string) (spot, error) {
	at, id, ok := strings.Cut(text, ".")
	updated, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil {
		return spot{}, fmt.Errorf("%q is not where a page ended", text)
	}
	return spot{updated, id}, nil
}

// page is the answer to a query: the ids of runs, and where the next page begins if there is one.
type page struct {
	IDs   []string `json:"ids"`
	Next  string   `json:"next,omitempty"`
	Error string   `json:"error,omitempty"`
	Wait  bool     `json:"wait,omitempty"` // the error passes
}

// page answers a query. It looks at every run that is known, but keeps no more of them than the page has.
func (x *Index) page(q *Query) (*page, error) {
	limit := cmp.Or(min(q.Limit, MaxPage), MaxPage)
	from := spot{}
	if q.Before != "" {
		var err error
		if from, err = parseSpot(q.Before); err != nil {
			return nil, err
		}
	}
	x.mu.Lock()
	if !x.ready {
		x.mu.Unlock()
		return nil, ErrNotReady
	}
	var first []spot
	var last *spot // no later one is wanted
	cut := func() {
		if slices.SortFunc(first, compareSpots); len(first) > limit {
			first = first[:limit+1]
			end := first[limit]
			last = &end
		}
	}
	for id, k := range x.known {
		at := spot{k.updated, id}
		if q.State != "" && k.state != q.State || q.Before != "" && compareSpots(at, from) <= 0 || last != nil && compareSpots(at, *last) > 0 {
			continue
		}
		if first = append(first, at); len(first) > 2*limit+1 {
			cut()
		}
	}
	x.mu.Unlock()
	cut()
	p := &page{}
	if len(first) > limit {
		p.Next = first[limit-1].String()
		first = first[:limit]
	}
	for _, s := range first {
		p.IDs = append(p.IDs, s.id)
	}
	return p, nil
}

// servePages answers queries until ctx ends.
func (x *Index) servePages(ctx context.Context) error {
	sub, err := x.runs.conn.NATS.QueueSubscribe(x.runs.pages(), "serve", func(m *nats.Msg) {
		var q Query
		p := &page{}
		err := json.Unmarshal(m.Data, &q)
		if err == nil {
			p, err = x.page(&q)
		}
		if err != nil {
			p = &page{Error: err.Error(), Wait: errors.Is(err, ErrNotReady)}
		}
		if raw, err := json.Marshal(p); err == nil {
			_ = m.Respond(raw) // who has gone asks again
		}
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() }) // the connection may be gone
	return nil
}
