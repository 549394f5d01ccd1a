package read

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/workspace/textfile"
)

// sample reads a small file whole, and of a large one what its encoding can be told by. A file that says it is empty may be one
// of the kernel's, which have no size: it is streamed.
func (f opened) sample() (b []byte, whole bool, err error) {
	whole = f.info.Size > 0 && f.info.Size <= wholeSize
	if whole && f.info.Size <= smallSize {
		return f.first, true, nil
	}
	b = make([]byte, min(f.info.Size, sampleSize))
	if whole {
		b = make([]byte, f.info.Size)
	}
	n, err := f.file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, fmt.Errorf("could not read %s: %w", f.facts.Path, err)
	}
	if b = b[:n]; !whole {
		b = wholeCharacters(b)
	}
	return b, whole, nil
}

// encoding tells the encoding by the sample or, where that is all ASCII, by the first part of the file that is not: an edit,
// which sees everything, must come to the same answer.
func (f opened) encoding(ctx context.Context, detect func([]byte) (textfile.Encoding, error), sample []byte, whole bool) (textfile.Encoding, error) {
	enc, err := detect(sample)
	if err != nil || whole || !enc.UTF8() || bytes.ContainsFunc(sample, beyondASCII) {
		return enc, err
	}
	buf := make([]byte, sampleSize)
	for at := int64(len(sample)); at < min(f.info.Size, maxScan) && ctx.Err() == nil; at += sampleSize {
		n, err := f.file.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return enc, err
		}
		if i := bytes.IndexFunc(buf[:n], beyondASCII); i >= 0 {
			n, _ = f.file.ReadAt(buf, at+int64(i))
			return detect(append(slices.Clip(sample[:min(len(sample), 512)]), wholeCharacters(buf[:n])...))
		}
	}
	return enc, ctx.Err()
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

// wholeCharacters cuts a sample where no character is split: after the last line, or else before an incomplete one.
func wholeCharacters(b []byte) []byte {
	if i := bytes.LastIndexByte(b, '\n'); i > 0 && b[0] != 0xFF && b[0] != 0xFE {
		return b[:i+1]
	}
	b = b[:len(b)&^1]
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// textOnly ends at the first NUL, which no text in a narrow encoding holds: a sparse file may continue with them for hours.
type textOnly struct{ r io.Reader }

func (t textOnly) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if bytes.IndexByte(b[:n], 0) >= 0 {
		return 0, &textfile.BinaryError{Kind: "data with NUL bytes"}
	}
	return n, err
}
