package bundle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A filler puts values in the place of ${…}.
type filler struct {
	known    map[string]string
	set      map[string][]string
	problems []error
}

var placeholder = lazyregexp.New(`\$\{([^}]*)\}`)

// one fills a text in; a setting of several values is joined.
func (f *filler) one(text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(match string) string {
		name := match[2 : len(match)-1]
		if setting, ok := strings.CutPrefix(name, "user_config."); ok {
			values, known := f.set[setting]
			if !known {
				f.problems = append(f.problems, fmt.Errorf("the bundle uses the setting %s, which it does not describe", setting))
			}
			return strings.Join(values, ",")
		}
		if value, ok := f.known[name]; ok {
			return value
		}
		f.problems = append(f.problems, fmt.Errorf("the bundle uses the unknown variable %s", match))
		return ""
	})
}

// several fills an argument in: one that is a setting of several values, or of none,
// becomes as many arguments.
func (f *filler) several(text string) []string {
	if name, ok := strings.CutPrefix(text, "${user_config."); ok && strings.Count(text, "$") == 1 && strings.HasSuffix(name, "}") {
		if values, known := f.set[strings.TrimSuffix(name, "}")]; known {
			return slices.Clone(values)
		}
	}
	return []string{f.one(text)}
}
