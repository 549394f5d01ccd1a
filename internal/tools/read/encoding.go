package read

import (
	"bytes"
	"io"

	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// textOnly ends at the first NUL, which no text in a narrow encoding holds: a sparse file may continue with them for hours.
type textOnly struct{ r io.Reader }

func (t textOnly) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if bytes.IndexByte(b[:n], 0) >= 0 {
		return 0, &textfile.BinaryError{Kind: "data with NUL bytes"}
	}
	return n, err
}
