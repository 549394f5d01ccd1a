package schema

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// Resolve returns a checked input in which relative paths in top-level fields marked path
// start at dir, and what it changed. All later steps then see one spelling of a file. Paths in
// the home folder (~) and values that are not paths on this system stay unchanged.
func (v *View) Resolve(raw json.RawMessage, dir string) (json.RawMessage, []Repair) {
	if dir == "" || !v.hasPaths() {
		return raw, nil
	}
	value, err := decode(raw)
	input, ok := value.(map[string]any)
	if err != nil || !ok {
		return raw, nil
	}
	var repairs []Repair
	for _, name := range v.derived().root.order {
		given, ok := input[name].(string)
		if !ok || !v.root.fields[name].path || !isRelative(given) {
			continue
		}
		// Not cleaned: a .. after a link must be taken where the link leads.
		input[name] = strings.TrimSuffix(dir, "/") + "/" + strings.TrimPrefix(given, "./")
		repairs = append(repairs, Repair{Path: name, From: quote(given), To: quote(input[name])})
	}
	if repairs == nil {
		return raw, nil
	}
	return marshal(input), repairs
}

func (v *View) hasPaths() bool {
	for _, n := range v.derived().root.fields {
		if n.path {
			return true
		}
	}
	return false
}

func isRelative(path string) bool {
	drive := len(path) > 1 && path[1] == ':'
	return path != "" && !filepath.IsAbs(path) && path[0] != '~' && !drive && !strings.Contains(path, "://") && !strings.ContainsRune(path, 0)
}
