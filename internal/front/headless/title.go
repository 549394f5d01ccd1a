package headless

import (
	"context"
	"errors"
	"fmt"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// titleRequests are those about what the session is called.
func (s *server) titleRequests() []row {
	return []row{about(s, s.rename), about(s, s.proposeTitle)}
}

// rename gives the session a title, if it is still the one that the program means.
func (s *server) rename(ctx context.Context, talk *harness.Conversation, r *wire.RenameSession) (any, error) {
	defer s.settle(ctx, talk)
	if r.SessionID != "" && r.SessionID != talk.Agent.Session() {
		return nil, errors.New("session_id is not the current session")
	}
	return nil, talk.Rename(ctx, r.Title)
}

// proposeTitle makes a title. One that the user has chosen stays.
func (s *server) proposeTitle(ctx context.Context, talk *harness.Conversation, r *wire.GenerateSessionTitle) (any, error) {
	defer s.settle(ctx, talk)
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
