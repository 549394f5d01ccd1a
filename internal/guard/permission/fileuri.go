package permission

import (
	"net/url"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// evaluateFileURIs judges the files of this machine that a call names as file: addresses. A
// server that is asked for one, such as for a resource, reads it for us: it must not show
// what Read may not show.
func (h *evaluation) evaluateFileURIs() {
	for _, path := range filesNamed(map[string]any(h.subject.params)) {
		f := h.policy.guard.Look(path)
		if f.Malformed != "" {
			continue // no server can open it
		}
		for _, r := range h.policy.deny {
			if r.name == readRule && r.path != nil && h.denied == nil && r.coversPath(f, h.policy) {
				h.denied = byRule(r, "a rule denies it")
			}
		}
		switch f.Sensitive.Read {
		case guard.Deny:
			if h.denied == nil {
				h.denied = &finding{reason: f.Path + ": " + f.Sensitive.What}
			}
		case guard.Ask:
			h.protect(f.Path+": "+f.Sensitive.What, true)
		}
	}
}

// filesNamed returns the paths of file: addresses anywhere in a value.
func filesNamed(value any) []string {
	var out []string
	switch v := value.(type) {
	case string:
		if len(v) < 5 || !strings.EqualFold(v[:5], "file:") {
			return nil
		}
		path := strings.TrimPrefix(v[5:], "//")
		if host, rest, ok := strings.Cut(path, "/"); ok && host != "" {
			path = "/" + rest // of whatever host: the server decides what that means
		}
		path, _, _ = strings.Cut(path, "#")
		path, _, _ = strings.Cut(path, "?")
		out = append(out, path)
		if plain, err := url.PathUnescape(path); err == nil && plain != path {
			out = append(out, plain)
		}
	case map[string]any:
		for _, each := range v {
			out = append(out, filesNamed(each)...)
		}
	case []any:
		for _, each := range v {
			out = append(out, filesNamed(each)...)
		}
	}
	return out
}
