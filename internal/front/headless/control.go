package headless

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// A row of the table of control requests says how one kind of request is answered.
type row struct {
	subtype string
	answer  func(context.Context, wire.Request) (reply any, served bool, err error)
}

// requests answer control requests about a conversation.
type requests struct {
	opts   *Options
	opened func() *harness.Conversation
	driver func() harness.Driver
	tell   *teller
	settle func(context.Context) // waits until what happened was sent
	began  time.Time
	asked  func() int64 // milliseconds that models took for their answers

	mu sync.Mutex
	// removeFlagRules removes the rules of settings that the program laid over the files'.
	removeFlagRules func()
}

func newRequests(r *run) *requests {
	return &requests{opts: &r.opts, opened: r.opened, driver: func() harness.Driver { return r.drive }, tell: r.tell, settle: r.drive.Settle, began: r.began, asked: r.asked.Load}
}

// table has the rows of a program, by their names on the wire. Each file lists the requests
// that it answers; see [server.initialize].
func (q *requests) table() map[string]row {
	return tableOf(
		programRequests(q), courseRequests(q), titleRequests(q), settingsRequests(q), listingRequests(q), usageRequests(q),
		reloadRequests(q), fileRequests(q), taskRequests(q), mcpRequests(q),
	)
}

func tableOf(rows ...[]row) map[string]row {
	table := make(map[string]row)
	for _, r := range slices.Concat(rows...) {
		table[r.subtype] = r
	}
	return table
}

// handle answers a control request.
func handle(ctx context.Context, table map[string]row, opened func() *harness.Conversation, r wire.Request) (any, error) {
	if row, ok := table[r.Subtype()]; ok {
		if reply, served, err := row.answer(ctx, r); served {
			return reply, err
		}
	}
	if opened() == nil {
		return nil, errNotOpened
	}
	return nil, wire.Unsupported(r)
}

var errNotOpened = errors.New("there is no conversation yet: send initialize first")

// programRequests need no conversation.
func programRequests(q *requests) []row {
	return []row{
		always(func(*wire.EndSession) (any, error) { return nil, nil }), // see [server.answered]
		always(func(*wire.GetBinaryVersion) (any, error) {
			return wire.BinaryVersionReply{Version: q.opts.Version}, nil
		}),
		always(func(*wire.ListModels) (any, error) { return wire.ListModelsReply{Models: models()}, nil }),
	}
}

// always is the row of a request that is also answered before there is a conversation.
func always[R wire.Request](answer func(R) (any, error)) row {
	return rowOf(func(_ context.Context, r R) (any, error) { return answer(r) })
}

// about is the row of a request about the conversation.
func about[R wire.Request](q *requests, answer func(context.Context, *harness.Conversation, R) (any, error)) row {
	return rowOf(func(ctx context.Context, r R) (any, error) {
		talk := q.opened()
		if talk == nil {
			return nil, errNotOpened
		}
		return answer(ctx, talk, r)
	})
}

// with is the row of a request about the conversation whose answer needs more than that.
func with[R wire.Request](q *requests, answer func(context.Context, *requests, *harness.Conversation, R) (any, error)) row {
	return about(q, func(ctx context.Context, talk *harness.Conversation, r R) (any, error) {
		return answer(ctx, q, talk, r)
	})
}

// rowOf is the row of the requests of a type. A request whose fields could not be decoded
// has the name of the type but is not of that type: it is not served.
func rowOf[R wire.Request](answer func(context.Context, R) (any, error)) row {
	var kind R
	return row{kind.Subtype(), func(ctx context.Context, r wire.Request) (any, bool, error) {
		request, ok := r.(R)
		if !ok {
			return nil, false, nil
		}
		reply, err := answer(ctx, request)
		return reply, true, err
	}}
}
