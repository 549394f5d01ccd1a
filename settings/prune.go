package settings

import "strconv"

// A Place is a value on its way through [Settings.Prune].
type Place struct {
	Value
	// Path is the keys that lead to it; elements of lists have their number.
	Path []string
}

// A Choice decides what happens to a value in [Settings.Prune].
type Choice int

const (
	// Drop leaves the value out.
	Drop Choice = iota
	// Keep keeps it unchanged.
	Keep
	// Enter decides separately for each of its members or elements.
	Enter
)

// Prune returns settings with only what choose keeps. Everything else, including problems,
// stays as it is. choose is called for the members of each file first.
func (s *Settings) Prune(choose func(Place) Choice) *Settings {
	pruned := &Settings{files: make([]*File, len(s.files))}
	for i, f := range s.files {
		n := *f
		n.root = f.prune(f.root, nil, choose)
		pruned.files[i] = &n
	}
	return pruned
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
