package serve

import (
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"strings"
)

// kinds are the types of the page's files. The system's own table is not asked: it may
// say that a script is something else.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json", ".webmanifest": "application/manifest+json",
}

// acceptsGzip reports whether a client understands gzip. It may refuse it, and what it says
// about gzip counts more than what it says about everything.
func acceptsGzip(header []string) bool {
	accepts := map[string]bool{}
	for coding := range strings.SplitSeq(strings.ToLower(strings.Join(header, ",")), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		_, q, weighed := strings.Cut(weight, "q=")
		value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		accepts[strings.TrimSpace(name)] = !weighed || err == nil && value > 0
	}
	if gzip, named := accepts["gzip"]; named {
		return gzip
	}
	return accepts["*"]
}

// unchanged reports whether a client has what an ETag names.
func unchanged(header []string, etag string) bool {
	for known := range strings.SplitSeq(strings.Join(header, ","), ",") {
		known = strings.TrimSpace(known)
		if known == "*" || strings.TrimPrefix(known, "W/") == `"`+etag+`"` {
			return true
		}
	}
	return false
}

// unpack is the content of a compressed file.
func unpack(raw []byte) ([]byte, error) {
	in, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(in)
}
