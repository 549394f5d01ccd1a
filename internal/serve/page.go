package serve

import (
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
		http.Error(w, "Only GET is answered here.", http.StatusMethodNotAllowed)
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
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // who asked may be gone
}
