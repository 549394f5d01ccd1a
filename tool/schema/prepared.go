package schema

import (
	"encoding/json"
	"errors"
	"maps"
)

// A Prepared is the JSON of an input's schema, derived when the program was built. Otherwise a
// program with many tools would spend much of its start-up time on deriving schemas that are
// only sent.
type Prepared struct {
	// Package and Type are those of the type, as package reflect has them.
	Package, Type string
	// Flags are those of a session that the shape depends on, sorted.
	Flags []string
	// JSON has a schema for each way in which the flags can be set: bit i of the index says that Flags[i] is on.
	JSON []string
}

// Prepare returns s, or if one of the list is for its type a schema that is derived when an
// input is checked and not before. A test should check that the list is as [Schema.Derive]
// would make it.
func (s *Schema) Prepare(list []Prepared) *Schema {
	if s.of == nil {
		return s
	}
	name, pkg := s.of.String(), s.of.PkgPath()
	for i := range list {
		if p := &list[i]; p.Type == name && p.Package == pkg {
			return &Schema{source: s.source, of: s.of, prepared: p}
		}
	}
	return s
}

// Derive returns what [Schema.Prepare] takes. It is an error if the schema is not of a type, or depends on more than
// flags.
func (s *Schema) Derive() (Prepared, error) {
	src, err := s.source()
	if err != nil {
		return Prepared{}, err
	}
	if s.of == nil || src.lists != nil {
		return Prepared{}, errors.New("the schema is not of a type, or depends on lists of a session")
	}
	p := Prepared{Package: s.of.PkgPath(), Type: s.of.String(), Flags: src.flags}
	for set := range 1 << len(src.flags) {
		on := map[string]bool{}
		for i, flag := range src.flags {
			on[flag] = set&(1<<i) != 0
		}
		p.JSON = append(p.JSON, string(s.derivedView(&ViewOptions{Flags: on}).JSON()))
	}
	return p, nil
}

func (s *Schema) preparedView(opts *ViewOptions) *View {
	set, key := 0, ""
	for i, flag := range s.prepared.Flags {
		if opts.Flags[flag] {
			set |= 1 << i
			key += "\x00+" + flag
		}
	}
	return s.kept("prepared"+key, func() *View {
		own := ViewOptions{Flags: maps.Clone(opts.Flags)} // a caller may change its options
		return &View{json: json.RawMessage(s.prepared.JSON[set]), later: func() *View { return s.derivedView(&own) }}
	})
}
