package session

import (
	"context"
	"errors"
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
