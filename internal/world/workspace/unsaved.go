package workspace

import (
	"context"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// Unsaved returns the bytes that a file would have if the user saved it in their editor, and
// whether they differ from its bytes on disk, which are raw in the encoding enc. A difference
// in line endings alone does not count, because editors hold text without them. Text that the
// encoding cannot represent could not be saved, and is ignored.
func (w *Workspace) Unsaved(ctx context.Context, path string, raw []byte, enc textfile.Encoding) ([]byte, bool) {
	if w.unsaved == nil {
		return nil, false
	}
	text, ok := w.unsaved(ctx, path)
	if !ok {
		return nil, false
	}
	saved := textfile.Decode(raw, enc)
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.ReplaceAll(text, "\r\n", "\n") == strings.ReplaceAll(string(saved.Bytes()), "\r\n", "\n") {
		return nil, false
	}
	if saved.EOL() == textfile.CRLF {
		text = textfile.WithEndings(text, "\r\n")
	}
	body, err := enc.Encode(text)
	if err != nil {
		return nil, false
	}
	return append(enc.BOM(), body...), true
}
