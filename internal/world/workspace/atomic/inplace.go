package atomic

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/haftdev/haft/internal/world/workspace/disk"
)

// chunk is how much is written at a time, in ascending order.
const chunk = 1 << 20

// put makes the content of file be data, where it now holds size bytes.
func put(file disk.File, data []byte, size int) error {
	for off := 0; off < len(data); off += chunk {
		if _, err := file.WriteAt(data[off:min(off+chunk, len(data))], int64(off)); err != nil {
			return err
		}
	}
	if len(data) < size {
		if err := file.Truncate(int64(len(data))); err != nil {
			return err
		}
	}
	return file.Sync()
}

func readAll(r io.ReaderAt, size int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(size) + 1)
	_, err := b.ReadFrom(io.NewSectionReader(r, 0, 1<<62))
	return b.Bytes(), err
}

func hash(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}
