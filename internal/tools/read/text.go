package read

import (
	"context"
	"fmt"
	"io"
)

const (
	defaultLimit = 2000
	maxTokens    = 25_000   // of one result, by estimate
	sampleSize   = 1 << 20  // what the encoding of a large file is told by
	wholeSize    = 8 << 20  // a file up to this size is read whole, and kept as the base of merges
	maxGrowth    = 16 << 20 // what is read beyond the size a file says it has
	maxScan      = 1 << 30  // what is read to know a file's hash and number of lines; larger ones are not edited
)

// span names a part, such as Line 3 or Lines 3-5, and verb is what follows it.
func span(noun string, from, to int) string {
	if from == to {
		return fmt.Sprintf("%s %d", noun, from)
	}
	return fmt.Sprintf("%ss %d-%d", noun, from, to)
}

func verb(from, to int) string {
	if from == to {
		return "is"
	}
	return "are"
}

// counted counts what passes.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
