package tool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/haftdev/haft/tool/schema"
)

// SearchName is the tool that finds deferred ones. Without it in the pool
// nothing is deferred.
const SearchName = "ToolSearch"

// A Set is the tools of a turn. It never changes: [Set.Append] and [Set.Reveal]
// return the set of the next turn, whose request begins with the very bytes of
// this one, so that a provider's prompt cache keeps its worth.
type Set struct {
	session *Session
	tools   []*Tool          // the pool, in order
	names   map[string]*Tool // by name
	aliases map[string]*Tool // by older name
	visible []*Tool          // what the model is told about, in request order
	request *request
	refused []error
	off     []*Tool         // what the session does not enable
	absent  map[string]bool // names of tools that texts may speak of, and that are not there
	opts    SetOptions
}

// SetOptions choose from the tools there are.
type SetOptions struct {
	// Only keeps the named tools; nil keeps all.
	Only []string
	// Denied removes a tool before the model sees it; nil removes none.
	Denied func(*Tool) bool
	// ContextTokens is the size of the model's context. Foreign tools whose
	// descriptions would take more than DeferShare of it are deferred. 0 means
	// that size defers nothing.
	ContextTokens int
	// DeferShare is a share of the context; 0 means a tenth.
	DeferShare float64
	// Known are the names of tools that descriptions may speak of, beside those that
	// the set is made from: what is said of one that is not in the set is left out.
	Known []string
	// Redirect says which tool is meant when a model calls one of these names; nil
	// redirects none. What a name leads to is not redirected again.
	Redirect map[string]string
}

// NewSet assembles a pool: built-ins by name, then foreign tools by name. A
// built-in wins over a foreign tool of the same name. A wrongly built tool is a
// mistake of the program, and NewSet panics with its name; a wrongly built
// foreign one is a mistake of its server, and [Set.Refused] tells.
func NewSet(session *Session, builtins, foreign []Tool, opts *SetOptions) *Set {
	if opts == nil {
		opts = new(SetOptions)
	}
	s := &Set{session: new(Session), names: make(map[string]*Tool), aliases: make(map[string]*Tool)}
	if session != nil {
		*s.session = *session
		s.session.Flags, s.session.Lists = maps.Clone(session.Flags), maps.Clone(session.Lists)
	}
	s.add(s.choose(builtins, opts))
	own := len(s.tools)
	s.add(s.choose(foreign, opts))
	s.session.Tools = nil
	for _, t := range s.tools {
		s.session.Tools = append(s.session.Tools, t.Name)
	}
	s.absent = make(map[string]bool)
	for _, t := range builtins {
		s.absent[t.Name] = s.names[t.Name] == nil
	}
	for _, name := range opts.Known {
		s.absent[name] = s.names[name] == nil
	}
	maps.DeleteFunc(s.absent, func(_ string, absent bool) bool { return !absent })
	s.opts = *opts
	s.show(own)
	return s
}

// Known are the names of all built-in tools, in the set or not.
func (s *Set) Known() (names []string) {
	for name := range s.absent {
		names = append(names, name)
	}
	for _, t := range s.tools {
		if t.Source == "" {
			names = append(names, t.Name)
		}
	}
	return names
}

// Disabled reports whether there is a tool of that name which the session does not
// enable, and what the tool says that it needs.
func (s *Set) Disabled(name string) (needs string, ok bool) {
	for _, t := range s.off {
		if t.Name == name || slices.Contains(t.Aliases, name) {
			return t.Needs, true
		}
	}
	return "", false
}

// choose returns the tools that the options, then the session, leave, by name.
func (s *Set) choose(tools []Tool, opts *SetOptions) []*Tool {
	var chosen []*Tool
	for i := range tools {
		t := &tools[i]
		switch {
		case opts.Only != nil && !slices.Contains(opts.Only, t.Name):
		case opts.Denied != nil && opts.Denied(t):
		case t.Enabled != nil && !t.Enabled(s.session):
			s.off = append(s.off, t)
		default:
			own := *t // the caller's slice may change
			if own.Source == "" && own.Describe != nil {
				own.Describe = s.mentioning(t.Describe)
			}
			chosen = append(chosen, &own)
		}
	}
	slices.SortStableFunc(chosen, func(a, b *Tool) int { return cmp.Compare(a.Name, b.Name) })
	return chosen
}

// add takes in tools whose names are free.
func (s *Set) add(tools []*Tool) {
	for _, t := range tools {
		if err := s.fits(t); err != nil {
			err = fmt.Errorf("tool %s: %w", t.Name, err)
			if t.Source == "" {
				panic(err.Error())
			}
			s.refused = append(s.refused, err)
			continue
		}
		s.names[t.Name] = t
		s.tools = append(s.tools, t)
		for _, alias := range t.Aliases {
			if a := s.aliases[alias]; a == nil || a.Source != "" && t.Source == "" {
				s.aliases[alias] = t
			}
		}
	}
}

func (s *Set) fits(t *Tool) error {
	if s.names[t.Name] != nil {
		return errors.New("the name is taken")
	}
	return t.checkCallable()
}

// Refused says which foreign tools are not in the set, and why.
func (s *Set) Refused() []error { return s.refused }

// show decides which tools the first request describes; own is how many are built in.
func (s *Set) show(own int) {
	canDefer := s.canDefer()
	tooMuch := canDefer && s.crowded(s.tools[own:])
	for i, t := range s.tools {
		if !canDefer || !t.Deferred && (i < own || !tooMuch || t.always()) {
			s.visible = append(s.visible, t)
		}
	}
	s.request = newRequest(s, nil)
}

// canDefer reports whether a tool that is not described can be found.
func (s *Set) canDefer() bool {
	t := s.names[SearchName]
	return t != nil && t.Source == ""
}

// crowded reports whether the descriptions of tools take too much of the context.
func (s *Set) crowded(tools []*Tool) bool {
	if s.opts.ContextTokens == 0 {
		return false
	}
	share := cmp.Or(s.opts.DeferShare, 0.1)
	const bytesPerToken = 3.5
	budget := int(share * float64(s.opts.ContextTokens) * bytesPerToken)
	for _, t := range tools {
		budget -= len(s.Description(t)) + len(s.View(t).JSON())
		if budget < 0 {
			return true
		}
	}
	return false
}

// always reports whether the tool's size is no reason to defer it.
func (t *Tool) always() bool {
	v, _ := t.Meta[AlwaysLoad].(bool)
	return v
}

// AlwaysLoad is a key of [Tool.Meta]: a foreign tool with the value true is described
// however much there is to describe.
const AlwaysLoad = "alwaysLoad"

// Append returns the set of the next turn with late tools at its end, by name
// among themselves. A foreign tool whose name is taken is left out. If the foreign
// tools, these included, take too much of the context, these are deferred; what is
// described already stays.
func (s *Set) Append(late ...Tool) *Set {
	n := s.next()
	before := len(n.tools)
	n.add(n.choose(late, &SetOptions{Denied: s.opts.Denied}))
	canDefer := n.canDefer()
	tooMuch := canDefer && n.crowded(n.foreign())
	for _, t := range n.tools[before:] {
		n.session.Tools = append(n.session.Tools, t.Name)
		if !canDefer || !t.Deferred && (t.Source == "" || !tooMuch || t.always()) {
			n.visible = append(n.visible, t)
		}
	}
	return n
}

func (s *Set) foreign() []*Tool {
	var tools []*Tool
	for _, t := range s.tools {
		if t.Source != "" {
			tools = append(tools, t)
		}
	}
	return tools
}

// Reveal returns the set of the next turn, in which the model sees the named
// deferred tools.
func (s *Set) Reveal(names ...string) *Set {
	n := s.next()
	for _, name := range names {
		if t := n.Lookup(name); t != nil && !slices.Contains(n.visible, t) {
			n.visible = append(n.visible, t)
		}
	}
	return n
}

// next returns a copy that can be grown without touching s.
func (s *Set) next() *Set {
	n := &Set{
		session: new(Session),
		tools:   slices.Clip(s.tools),
		names:   maps.Clone(s.names),
		aliases: maps.Clone(s.aliases),
		visible: slices.Clip(s.visible),
		refused: slices.Clip(s.refused),
		off:     s.off,
		opts:    s.opts,
	}
	*n.session = *s.session
	n.session.Tools = slices.Clip(s.session.Tools)
	n.request = newRequest(n, s.request)
	return n
}

// Lookup finds a tool by its name or an older one; nil means that there is none.
func (s *Set) Lookup(name string) *Tool {
	if t := s.names[name]; t != nil {
		return t
	}
	return s.aliases[name]
}

// Called finds the tool that a model means by a name; nil means that there is none.
func (s *Set) Called(name string) *Tool {
	if to, ok := s.opts.Redirect[name]; ok {
		name = to
	}
	return s.Lookup(name)
}

// All returns the pool in order. The caller must not modify it.
func (s *Set) All() []*Tool { return s.tools }

// Deferred returns the tools that the model knows by name only.
func (s *Set) Deferred() []*Tool {
	var d []*Tool
	for _, t := range s.tools {
		if !slices.Contains(s.visible, t) {
			d = append(d, t)
		}
	}
	return d
}

// Session returns the facts the set was assembled for.
func (s *Set) Session() *Session { return s.session }

// View returns the input schema of t as the model sees it.
func (s *Set) View(t *Tool) *schema.View { return t.Input.View(s.session.ViewOptions()) }
