package checkpoint

import (
	"context"
	"path/filepath"

	"github.com/haftdev/haft/session"
)

// ApplyUntil does what Apply does up to a step, as if the process died there.
func (p *Plan) ApplyUntil(ctx context.Context, s *session.Session, steps int) error {
	if err := p.remember(ctx, s, "rewind-x"); err != nil {
		return err
	}
	if err := p.save(filepath.Join(s.Dir(), rewindFile)); err != nil {
		return err
	}
	w := writer{blobs: s.Blobs()}
	for _, step := range p.ordered()[:steps] {
		if err := w.put(ctx, &step); err != nil {
			return err
		}
	}
	return nil
}

// Telling has Apply tell of each file that it has changed.
func (o *ApplyOptions) Telling(did func(path string)) *ApplyOptions {
	o.did = did
	return o
}
