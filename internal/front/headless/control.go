package headless

import (
	"context"
	"errors"
	"slices"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// A row of the table of control requests says how one kind of request is answered.
type row struct {
	subtype string
	answer  func(context.Context, wire.Request) (reply any, served bool, err error)
}

// requests is the table of control requests, by their names on the wire. Each file lists
// the requests that it answers.
func (s *server) requests() map[string]row {
	table := make(map[string]row)
	for _, r := range slices.Concat(
		s.programRequests(), s.courseRequests(), s.titleRequests(), s.settingsRequests(), s.listingRequests(), s.usageRequests(),
		s.reloadRequests(), s.fileRequests(), s.taskRequests(), s.mcpRequests(),
	) {
		table[r.subtype] = r
	}
	return table
}

// handle answers a control request.
func (s *server) handle(ctx context.Context, r wire.Request) (any, error) {
	if row, ok := s.table[r.Subtype()]; ok {
		if s.opts.Guest {
			if err := s.guestMay(r); err != nil {
				return nil, err
			}
		}
		if reply, served, err := row.answer(ctx, r); served {
			return reply, err
		}
	}
	if s.opened() == nil {
		return nil, errNotOpened
	}
	return nil, wire.Unsupported(r)
}

var errNotOpened = errors.New("there is no conversation yet: send initialize first")

// programRequests need no conversation.
func (s *server) programRequests() []row {
	return []row{
		always(s.initialize),
		always(func(*wire.EndSession) (any, error) { return nil, nil }), // see answered
		always(func(*wire.GetBinaryVersion) (any, error) {
			return wire.BinaryVersionReply{Version: s.opts.Version}, nil
		}),
		always(func(*wire.ListModels) (any, error) { return wire.ListModelsReply{Models: models()}, nil }),
	}
}

// always is the row of a request that is also answered before there is a conversation.
func always[R wire.Request](answer func(R) (any, error)) row {
	return rowOf(func(_ context.Context, r R) (any, error) { return answer(r) })
}

// about is the row of a request about the conversation.
func about[R wire.Request](s *server, answer func(context.Context, *harness.Conversation, R) (any, error)) row {
	return rowOf(func(ctx context.Context, r R) (any, error) {
		talk := s.opened()
		if talk == nil {
			return nil, errNotOpened
		}
		return answer(ctx, talk, r)
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
