package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// kinds are the types of the page's files. The system's own table is not asked: it may
// say that a script is something else.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json", ".webmanifest": "application/manifest+json",
}

// page serves the files of the page. The page itself has the addresses of sessions and
// questions, too.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "Only GET is allowed here.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" || strings.HasPrefix(name, "s/") || strings.HasPrefix(name, "q/") {
		name = "index.html"
	}
	kind, known := kinds[path.Ext(name)]
	if s.opts.Files == nil || !known || !fs.ValidPath(name) {
		http.NotFound(w, r)
		return
	}
	text, err := fs.ReadFile(s.opts.Files, name)
	packed := err != nil
	if packed {
		text, err = fs.ReadFile(s.opts.Files, name+".gz")
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	tag := sha256.Sum256(text)
	etag := hex.EncodeToString(tag[:16])
	if packed {
		h.Set("Vary", "Accept-Encoding") // also if it has not changed: caches keep what this says
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			etag += "-gzip"
		} else if text, err = unpack(text); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if name != "index.html" {
		// The browser keeps it, compiled, and asks whether it is still the same.
		h.Set("ETag", `"`+etag+`"`)
		h.Set("Cache-Control", "no-cache")
		if unchanged(r.Header.Values("If-None-Match"), etag) {
			h.Del("Content-Encoding")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // who asked may be gone
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
