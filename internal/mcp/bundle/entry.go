package bundle

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/mcp"
)

// Entry is the entry of the bundle's server when it is unpacked in dir, with what the
// user has set. A secret is set as the name of a variable, because entries may be shared
// and arguments can be seen by everybody.
func (b *Bundle) Entry(dir string, values map[string][]string) (mcp.Server, error) {
	m := &b.Manifest
	if here := platform(); len(m.Compatible.Platforms) > 0 && !slices.Contains(m.Compatible.Platforms, here) {
		return mcp.Server{}, fmt.Errorf("the bundle %s is for %s, but this is %s", m.Name, strings.Join(m.Compatible.Platforms, ", "), here)
	}
	set, err := m.settings(values)
	if err != nil {
		return mcp.Server{}, err
	}
	l := m.Server.Command
	if other, ok := l.Overrides[platform()]; ok {
		l = l.with(other)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return mcp.Server{}, err
	}
	known := map[string]string{
		"__dirname": dir, "HOME": home, "/": string(filepath.Separator), "pathSeparator": string(filepath.Separator),
		"DESKTOP": filepath.Join(home, "Desktop"), "DOCUMENTS": filepath.Join(home, "Documents"), "DOWNLOADS": filepath.Join(home, "Downloads"),
	}
	f := &filler{known: known, set: set}
	for name, texts := range set {
		if values[name] == nil { // what the bundle itself says may have ${HOME}
			for i := range texts {
				texts[i] = f.one(texts[i])
			}
		}
	}
	s := mcp.Server{Type: mcp.Stdio, Command: f.one(l.Command)}
	for _, arg := range l.Args {
		s.Args = append(s.Args, f.several(arg)...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[name] = f.one(l.Env[name])
	}
	if !filepath.IsAbs(s.Command) && strings.ContainsAny(s.Command, `/\`) {
		s.Command = filepath.Join(dir, s.Command)
	}
	return s, errors.Join(f.problems...)
}

// with is a command with what another says instead.
func (l launch) with(other launch) launch {
	if other.Command != "" {
		l.Command = other.Command
	}
	if other.Args != nil {
		l.Args = other.Args
	}
	l.Env = maps.Clone(l.Env)
	if l.Env == nil {
		l.Env = map[string]string{}
	}
	maps.Copy(l.Env, other.Env)
	return l
}

// platform is this system as manifests call it.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// settings checks what the user has set, and adds what need not be set.
func (m *Manifest) settings(values map[string][]string) (map[string][]string, error) {
	for name := range values {
		if _, ok := m.UserConfig[name]; !ok {
			return nil, fmt.Errorf("the bundle %s has no setting %q; it has: %s", m.Name, name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(m.UserConfig)), ", "), "none"))
		}
	}
	set := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.UserConfig)) {
		s := m.UserConfig[name]
		given := values[name]
		if given == nil {
			given = s.defaults()
		} else if err := s.check(name, given); err != nil {
			return nil, err
		}
		if given == nil && s.Required {
			return nil, fmt.Errorf("the bundle %s needs the setting %s (%s): add --config %s=…", m.Name, name, strings.TrimSpace(s.Title+" "+s.Description), name)
		}
		set[name] = given
	}
	return set, nil
}

// defaults is what holds if the user sets nothing; nil for nothing.
func (s Setting) defaults() []string {
	var list []any
	var one any
	if len(s.Default) == 0 || string(s.Default) == "null" {
		return nil
	}
	if json.Unmarshal(s.Default, &list) != nil {
		if json.Unmarshal(s.Default, &one) != nil {
			return nil
		}
		list = []any{one}
	}
	texts := []string{}
	for _, v := range list {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// variable is how an entry refers to the environment.
var variable = lazyregexp.New(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// check says what is wrong with values.
func (s Setting) check(name string, values []string) error {
	if len(values) > 1 && !s.Multiple {
		return fmt.Errorf("the setting %s accepts only one value", name)
	}
	for i, v := range values {
		if variable.MatchString(v) {
			continue
		}
		if s.Sensitive {
			return fmt.Errorf("the setting %s is a secret: put it in an environment variable and give --config '%s=${NAME}'", name, name)
		}
		switch s.Type {
		case "number":
			n, err := strconv.ParseFloat(v, 64)
			if err != nil || s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
				return fmt.Errorf("the setting %s cannot be %q: it must be a number%s", name, v, s.bounds())
			}
		case "boolean":
			if v != "true" && v != "false" {
				return fmt.Errorf("the setting %s cannot be %q: it must be true or false", name, v)
			}
		case "directory", "file":
			whole, err := filepath.Abs(v)
			if err != nil {
				return err
			}
			if _, err := os.Stat(whole); err != nil {
				return fmt.Errorf("the setting %s: %w", name, err)
			}
			values[i] = whole
		}
	}
	return nil
}

// bounds are the smallest and the largest number, in words.
func (s Setting) bounds() string {
	switch {
	case s.Min != nil && s.Max != nil:
		return fmt.Sprintf(" from %v to %v", *s.Min, *s.Max)
	case s.Min != nil:
		return fmt.Sprintf(" of at least %v", *s.Min)
	case s.Max != nil:
		return fmt.Sprintf(" of at most %v", *s.Max)
	}
	return ""
}

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
