package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/haftdev/haft/model"
)

// ErrDrops means that resuming would lose more of the session than it may.
var ErrDrops = errors.New("resuming would drop more than one turn")

// checkDrops checks that what comes after o.At belongs to the turn of one prompt: a caller
// that leaves it out may not know what else was said in the meantime.
func checkDrops(ctx context.Context, path string, o *ResumeOptions) error {
	if o.Drops == "" || o.At == "" {
		return nil
	}
	r, err := read(ctx, path, "", "")
	if err != nil {
		return err
	}
	return r.checkDrops(o)
}

func (r *reading) checkDrops(o *ResumeOptions) error {
	after := -1
	for i, l := range r.chain {
		if l.UUID == o.At {
			after = i + 1
		}
	}
	if after < 0 {
		return fmt.Errorf("%w: %s is not in the current conversation", ErrDrops, o.At)
	}
	for _, l := range r.chain[after:] {
		if !l.isMessage() {
			continue
		}
		m, err := l.message()
		if err != nil {
			return err
		}
		if m.prompts() && l.UUID != o.Drops {
			return fmt.Errorf("%w: %s is a different prompt from %s", ErrDrops, l.UUID, o.Drops)
		}
	}
	return nil
}

// prompts reports whether a user sent it.
func (m *Message) prompts() bool {
	return m.Role == model.User && !m.Synthetic && len(m.Content) > 0 && m.Content[0].Type != model.ToolResult
}
