package settings

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/haftdev/haft/internal/rewrite"
)

// SetText makes the string value of a key at the top of a file, in place of the one
// that is there. Every other byte of the file stays.
func SetText(ctx context.Context, t Target, key, value string) error {
	root, name, err := t.open()
	if err != nil {
		return fmt.Errorf("set %s in %s: %w", key, t.Path, err)
	}
	defer root.Close()
	err = rewrite.File(ctx, root, name, func(text []byte) ([]byte, error) {
		rest, marked := bytes.CutPrefix(text, bom)
		edited, err := setText(rest, key, value)
		if err != nil || !marked {
			return edited, err
		}
		return slices.Concat(bom, edited), nil
	}, nil)
	if err != nil {
		return fmt.Errorf("set %s in %s: %w", key, t.Path, err)
	}
	return nil
}

func setText(text []byte, key, value string) ([]byte, error) {
	d, err := newDocument(text)
	if err != nil {
		return nil, err
	}
	old, err := d.find(d.root, key, '"')
	if err != nil {
		return nil, err
	}
	if old == nil {
		return d.insert(d.root, func(indent) string { return quote(key) + ": " + quote(value) }), nil
	}
	return splice(d.text, old.StartOffset, old.EndOffset, quote(value)), nil
}
