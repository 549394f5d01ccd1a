package headless

import (
	"io"
	"os"
)

// head reads the beginning of a file, and tells whether there is more.
func head(path string, limit int64) (raw []byte, more bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	raw, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(raw)) > limit {
		return raw[:limit], true, err
	}
	return raw, false, err
}
