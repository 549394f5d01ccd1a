package headless

import (
	"context"
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// titleRequests are those about what the session is called.
func titleRequests(q *requests) []row {
	return []row{with(q, rename), with(q, proposeTitle)}
}

// rename gives the session a title, if it is still the one that the program means.
func rename(ctx context.Context, q *requests, talk *harness.Conversation, r *wire.RenameSession) (any, error) {
	defer q.settle(ctx)
	if r.SessionID != "" && r.SessionID != talk.Agent.Session() {
		return nil, errors.New("session_id is not the current session")
	}
	return nil, talk.Rename(ctx, r.Title)
}

// proposeTitle makes a title. One that the user has chosen stays.
func proposeTitle(ctx context.Context, q *requests, talk *harness.Conversation, r *wire.GenerateSessionTitle) (any, error) {
	defer q.settle(ctx)
	if r.Persist && talk.Title() != "" {
		return wire.TitleReply{Title: wire.NullString(talk.Title())}, nil
	}
	title, err := talk.ProposeTitle(ctx, r.Description)
	if err != nil {
		return nil, fmt.Errorf("could not generate a title: %w", err)
	}
	if r.Persist && title != "" {
		err = talk.Rename(ctx, title)
	}
	return wire.TitleReply{Title: wire.NullString(title)}, err
}
