package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/near"
)

// A File is one settings file, or text from elsewhere in the same format.
type File struct {
	Source Source
	Path   string // "" if it is not a file
	// Shared says that Claude Code reads it too. A failure of its hooks does not block, as
	// there: their authors rely on it.
	Shared   bool
	root     *node
	problems []Problem
}

// A Problem is something that the owner of a file should know about it.
type Problem struct {
	Origin
	Kind ProblemKind
	Key  string // such as permissions.allow; "" for the file as a whole
	Text string
}

// ProblemKind is how bad a [Problem] is.
type ProblemKind int

const (
	// Skipped files are ignored completely, including their deny rules.
	Skipped ProblemKind = iota
	// Ignored values have the wrong type and have no effect.
	Ignored
	// Unknown keys mean nothing to haft. They are kept.
	Unknown
	// Idle keys are known, but haft does nothing with them. Those that should guard
	// something are Ignored instead.
	Idle
)

func (p Problem) String() string {
	where := p.Origin.String()
	if p.Key == "" {
		return where + ": " + p.Text
	}
	return where + ": " + p.About()
}

// About is the problem without its place: a text that starts with a verb has the key as its
// subject.
func (p Problem) About() string {
	switch verb, _, _ := strings.Cut(p.Text, " "); verb {
	case "is", "must", "has", "occurs":
		return p.Key + " " + p.Text
	}
	return p.Key + ": " + p.Text
}

// LosesRules reports whether the problem may lose deny or ask rules: because a whole file is
// ignored, or the part of a file that should contain them.
func (p Problem) LosesRules() bool {
	switch p.Kind {
	case Skipped:
		return filepath.Base(p.File) != serversFile // it holds servers only
	case Ignored:
		return p.Key == "permissions" || slices.Contains([]string{"permissions.deny", "permissions.ask"}, p.Key)
	}
	return false
}

// Parse parses settings from text, such as what a user chose in a session. After an error,
// none of it is used.
func Parse(source Source, path string, text []byte) (*File, error) {
	return parseFile(source, path, topLevel, text)
}

func parseFile(source Source, path string, known func() map[string]shape, text []byte) (*File, error) {
	f := &File{Source: source, Path: path, Shared: source != Managed && inShared(path)}
	root, err := parse(text, func(name string, line int) {
		f.report(Ignored, line, name, "occurs twice: only the last one is used")
	})
	if err != nil {
		return nil, err
	}
	f.root = checkObject(f, root, "", known())
	return f, nil
}

// inShared reports whether a file is in a folder of Claude Code, and not in one of haft
// inside it, such as that of a worktree.
func inShared(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		switch filepath.Base(dir) {
		case ".claude":
			return true
		case ".haft":
			return false
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// parse parses a JSON object with comments. Empty text is an empty object. If a name occurs
// twice, the last one counts, as everywhere, and a problem is reported.
func parse(text []byte, twice func(name string, line int)) (*node, error) {
	text = bytes.TrimPrefix(text, bom)
	v, err := parseValue(text)
	if err != nil {
		return nil, err
	}
	if v.Value.Kind() != '{' {
		return nil, errors.New("line 1: settings must be a JSON object, such as {}")
	}
	lines := &lineCounter{text: text, line: 1}
	return lines.convert(&v, twice), nil
}

// skipped is a file that is ignored completely.
func skipped(source Source, path string, line int, why string) *File {
	f := &File{Source: source, Path: path, root: &node{kind: '{', line: 1}}
	f.report(Skipped, line, "", why)
	return f
}

func (f *File) report(kind ProblemKind, line int, key, text string) {
	f.problems = append(f.problems, Problem{f.origin(line), kind, key, text})
}

func (f *File) origin(line int) Origin { return Origin{f.Source, f.Path, line} }

// Value returns the value at a path of keys in the file.
func (f *File) Value(path ...string) (Value, bool) {
	n := f.root.get(path...)
	if n == nil {
		return Value{}, false
	}
	return f.value(n), true
}

func (f *File) value(n *node) Value { return Value{f.origin(n.line), n.json()} }

// hooks reads {"failClosed": …, "EVENT": [{"matcher": "…", "hooks": [{…}]}]}.
func (f *File) hooks(closed bool) ([]Hook, []Problem) {
	r := hookReader{file: f, lenient: f.Shared && !closed}
	if events := f.root.get("hooks"); events != nil {
		for _, event := range events.members {
			if event.name == failClosed {
				continue
			}
			if !slices.Contains(Events, event.name) {
				r.strange(event.name, event.line)
				continue
			}
			for i, group := range event.value.elements {
				r.group(event.name, i, group)
			}
		}
	}
	return r.hooks, r.problems
}

func (f *File) prune(n *node, path []string, choose func(Place) Choice) *node {
	kept := &node{kind: n.kind, line: n.line, literal: n.literal}
	for _, m := range n.members {
		if v := f.chosen(m.value, append(path[:len(path):len(path)], m.name), choose); v != nil {
			kept.members = append(kept.members, member{m.name, m.line, v})
		}
	}
	for i, e := range n.elements {
		if v := f.chosen(e, append(path[:len(path):len(path)], index(i)), choose); v != nil {
			kept.elements = append(kept.elements, v)
		}
	}
	return kept
}

// index is the name of the i-th element in a path.
func index(i int) string { return strconv.Itoa(i) }

// chosen returns what is left of a value; nil means nothing.
func (f *File) chosen(n *node, path []string, choose func(Place) Choice) *node {
	switch choose(Place{f.value(n), path}) {
	case Keep:
		return n
	case Enter:
		return f.prune(n, path, choose)
	}
	return nil
}

// A Value is JSON that a file holds, without comments.
type Value struct {
	Origin
	JSON json.RawMessage
}

// checkObject returns the object without the values that have the wrong type, and reports
// those and the names that haft does not know.
func checkObject(f *File, object *node, prefix string, known map[string]shape) *node {
	kept := *object
	kept.members = nil
	for _, m := range object.members {
		key := prefix + m.name
		want, ok := known[m.name]
		switch {
		case !ok:
			f.report(Unknown, m.line, key, cmp.Or(misplaced(key), unknownKey(m.name, known)))
		case m.value.kind == 'n': // said to be unset
			continue
		case !want.fits(m.value):
			f.report(Ignored, m.line, key, fmt.Sprintf("must be %s, not %s: it is ignored", want, want.not(m.value)))
			continue
		case want.members != nil:
			m.value = checkObject(f, m.value, key+".", want.members)
		case want.each != 0:
			m.value = checkList(f, m.value, key, want)
		}
		if ok {
			want.checkEffect(f, key, m)
		}
		kept.members = append(kept.members, m)
	}
	return &kept
}

// checkList returns the list or object without the entries of the wrong type.
func checkList(f *File, list *node, key string, want shape) *node {
	kept := *list
	kept.elements = slices.DeleteFunc(slices.Clone(list.elements), func(e *node) bool {
		return wrongEntry(f, key, e, want.each)
	})
	kept.members = slices.DeleteFunc(slices.Clone(list.members), func(m member) bool {
		if other, ok := want.but[m.name]; ok && other.fits(m.value) {
			return false
		}
		return wrongEntry(f, key+"."+m.name, m.value, want.each)
	})
	return &kept
}

func wrongEntry(f *File, key string, entry *node, each byte) bool {
	if entry.kind == each {
		return false
	}
	f.report(Ignored, entry.line, key, fmt.Sprintf("must contain %s, not %s: the entry is ignored", kindName(each), kindName(entry.kind)))
	return true
}

// misplaced says where a key of the top level belongs, if it belongs into an object.
func misplaced(key string) string {
	for _, outer := range slices.Sorted(maps.Keys(topLevel())) {
		if _, ok := topLevel()[outer].members[key]; ok {
			return fmt.Sprintf("is not a known key here; it belongs into %q", outer)
		}
	}
	return ""
}

func unknownKey(name string, known map[string]shape) string {
	names := make([]string, 0, len(known))
	for k := range known {
		names = append(names, k)
	}
	slices.Sort(names)
	if found := near.Names(name, names, 1); len(found) > 0 {
		return fmt.Sprintf("is not a known key; did you mean %s?", found[0])
	}
	return "is not a known key"
}
