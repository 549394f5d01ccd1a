package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/world/workspace/blob"
)

// A string of more than longestString bytes is stored as a blob. In the line it is replaced
// by its beginning and a note, which other readers show; its digest is listed in the line,
// and this reader restores the string byte by byte.
const (
	longestString = 64 << 10
	previewString = 1 << 10
	noteFormat    = `\n[haft: %d bytes are kept as blob sha256:%s]`
	notePrefix    = "sha256:"

	blobFolder = "haft-blobs" // beside the sessions of a project
)

// blobs are the contents that the sessions of a project refer to.
type blobs struct {
	blob.Store
	dir string // where they are; "" if that is not a directory
}

func blobsIn(project string) *blobs {
	dir := filepath.Join(project, blobFolder)
	return &blobs{blob.Dir(dir), dir}
}

// BlobsOf returns the store of contents that the journal at path refers to.
func BlobsOf(path string) Blobs { return blobsIn(filepath.Dir(path)).Store }

// keep stores content on the disk for as long as a line refers to it.
func (b *blobs) keep(ctx context.Context, content []byte) (digest string, err error) {
	digest = blob.Digest(content)
	if err := b.Put(ctx, digest, content); err != nil {
		return "", err
	}
	if b.dir == "" {
		return digest, nil
	}
	file, err := regular.Open(filepath.Join(b.dir, digest[:2], digest[2:]))
	if err != nil {
		return "", fmt.Errorf("store content: %w", err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		return "", fmt.Errorf("store content: %w", err)
	}
	return digest, nil
}

// appendLine appends a line to dst, with its long strings kept as blobs.
func (b *blobs) appendLine(ctx context.Context, dst []byte, l *line) ([]byte, error) {
	long := len(l.Message)+len(l.ToolUseResult) > longestString
	if !long {
		raw, err := l.appendTo(dst)
		if err != nil {
			return nil, fmt.Errorf("encode line: %w", err)
		}
		return raw, nil
	}
	short := *l
	x := *l.extra()
	for _, field := range []*json.RawMessage{&short.Message, &short.ToolUseResult} {
		var digests []string
		var err error
		*field, digests, err = b.shortenStrings(ctx, *field)
		if err != nil {
			return nil, err
		}
		x.Blobs = append(x.Blobs, digests...)
	}
	if len(x.Blobs) > 0 {
		slices.Sort(x.Blobs)
		x.Blobs = slices.Compact(x.Blobs)
		short.Haft = &x
	}
	raw, err := short.appendTo(dst)
	if err != nil {
		return nil, fmt.Errorf("encode line: %w", err)
	}
	return raw, nil
}

func (b *blobs) shortenStrings(ctx context.Context, raw json.RawMessage) (json.RawMessage, []string, error) {
	var out bytes.Buffer
	var digests []string
	rest := []byte(raw)
	for {
		before, token, after := nextString(rest)
		out.Write(before)
		if token == nil {
			return out.Bytes(), digests, nil
		}
		if len(token) <= longestString {
			out.Write(token)
		} else {
			digest, err := b.keep(ctx, token)
			if err != nil {
				return nil, nil, err
			}
			digests = append(digests, digest)
			out.Write(preview(token))
			fmt.Fprintf(&out, noteFormat+`"`, len(token), digest)
		}
		rest = after
	}
}

// nextString splits JSON before and after its first string, including quotes. The token is
// nil if there is none.
func nextString(raw []byte) (before, token, after []byte) {
	start := bytes.IndexByte(raw, '"')
	if start < 0 {
		return raw, nil, nil
	}
	for i := start + 1; ; i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return raw, nil, nil
		}
		i += n
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return raw[:start], raw[start : i+1], raw[i+1:]
		}
	}
}

// preview is the beginning of a string token without the closing quote, cut so that no
// escape and no character is broken.
func preview(token []byte) []byte {
	i := 1
	for i < previewString {
		n := 1
		switch c := token[i]; {
		case c == '\\' && token[i+1] == 'u':
			n = 6
		case c == '\\':
			n = 2
		case c >= 0xf0:
			n = 4
		case c >= 0xe0:
			n = 3
		case c >= 0xc0:
			n = 2
		}
		i += n
	}
	return token[:i]
}

// restore restores the long strings of a line. If a blob is gone, the beginning and the
// note remain and say what is missing.
func (b *blobs) restore(ctx context.Context, l *line) {
	digests := l.extra().Blobs
	if len(digests) == 0 {
		return
	}
	l.read = nil
	for _, field := range []*json.RawMessage{&l.Message, &l.ToolUseResult} {
		*field = b.restoreStrings(ctx, *field, digests)
	}
}

func (b *blobs) restoreStrings(ctx context.Context, raw json.RawMessage, digests []string) json.RawMessage {
	var out bytes.Buffer
	rest := []byte(raw)
	for {
		before, token, after := nextString(rest)
		out.Write(before)
		if token == nil {
			return out.Bytes()
		}
		if digest := notedDigest(token); slices.Contains(digests, digest) {
			if content, err := b.Get(ctx, digest); err == nil {
				token = content
			}
		}
		out.Write(token)
		rest = after
	}
}

// notedDigest returns the digest in the note at the end of a string, or "".
func notedDigest(token []byte) string {
	const digestLength = 64
	end := len(token) - len(`]"`)
	start := end - digestLength
	if start < len(notePrefix) || string(token[start-len(notePrefix):start]) != notePrefix {
		return ""
	}
	digest := string(token[start:end])
	if _, err := strconv.ParseUint(digest[:16], 16, 64); err != nil {
		return ""
	}
	return digest
}
