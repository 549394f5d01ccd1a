package harness

import (
	"context"
	"encoding/json"

	"github.com/haftdev/haft/session"
)

// SetTitle names a session that nobody talks in.
func SetTitle(ctx context.Context, s *session.Session, title string) error {
	raw, err := json.Marshal(title)
	if err != nil {
		return err
	}
	return s.Append(ctx, session.Entry{State: &session.State{Name: "title", Value: raw}})
}

const titleSystem = `You name conversations. Answer only with a title of three to seven words for the work described, in the language of the description and in sentence case.`

const maxTitle = 120 // characters
