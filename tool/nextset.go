package tool

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// Next returns the set that follows s in a conversation when the available tools have
// become those of full. Tools that joined can be found and called, a tool whose schema has
// changed is called with the new one, and a tool that is gone says so. What the model was
// told stays the same; [Set.News] is what it must be told in addition. A set that is not
// sealed is replaced by full.
func (s *Set) Next(full *Set) *Set {
	if !s.sealed {
		return full.Reveal(s.foundNames()...)
	}
	n := full.next()
	n.sealed, n.loaded, n.found, n.known, n.news = true, s.loaded, slices.Clip(s.found), s.known, slices.Clip(s.news)
	n.opts.References, n.opts.Door = s.opts.References, s.opts.Door
	for _, told := range s.tools {
		switch t := n.names[told.Name]; {
		case s.known[told.Name] == nil: // the model knows only its name
		case t == nil && told.Source == "":
			n.add([]*Tool{told}) // what the conversation itself has added
		case t == nil:
			n.add([]*Tool{withdrawn(told)})
			if told.Meta[gone] == nil {
				n.news = append(n.news, fmt.Sprintf("The tool %s is no longer available: %s is not connected.", told.Name, told.origin()))
			}
		case told.Source != "" && !sameShape(s, told, n, t):
			n.news = append(n.news, fmt.Sprintf("The tool %s has changed. Its description is now: %s\nIts input must match this schema: %s", t.Name, n.Description(t), n.View(t).JSON()))
		case told.Meta[gone] != nil:
			n.news = append(n.news, fmt.Sprintf("The tool %s is available again.", t.Name))
		}
	}
	n.session.Tools = nil
	for _, t := range n.tools {
		n.session.Tools = append(n.session.Tools, t.Name)
	}
	n.encode()
	return n
}

// gone is the key of [Tool.Meta] by which a withdrawn tool is known.
const gone = "gone"

// withdrawn returns a tool that the model was told about and that is no longer offered.
func withdrawn(t *Tool) *Tool {
	w := *t
	w.Meta = map[string]any{gone: true}
	w.Marks = func(*Call) Marks { return Marks{ReadOnly: true, ConcurrencySafe: true, Effect: Pure} }
	w.Validate = nil
	w.Permission = func(context.Context, *Call) Verdict {
		return Verdict{Behavior: Allow, Reason: "the tool is no longer available, so the call does nothing"}
	}
	w.Run = func(context.Context, *Call) (Result, error) {
		return Result{}, Errorf("%s is no longer available: %s is not connected. Continue without it.", w.Name, w.origin())
	}
	return &w
}

func sameShape(a *Set, was *Tool, b *Set, is *Tool) bool {
	return a.Description(was) == b.Description(is) && bytes.Equal(a.View(was).JSON(), b.View(is).JSON())
}

// News are sentences for the model about tools that it knows and that have changed since,
// oldest first.
func (s *Set) News() []string { return s.news }

// Renew returns the set of a conversation that starts again, such as after a compaction:
// every tool, including those that the model has found, is described as it is now, and
// those that are gone are left out.
func (s *Set) Renew() *Set {
	n := s.next()
	n.sealed = false
	n.tools = slices.DeleteFunc(slices.Clone(n.tools), func(t *Tool) bool {
		out := t.Meta[gone] != nil || t.Name == DoorName
		if out {
			delete(n.names, t.Name)
		}
		return out
	})
	found := s.foundNames()
	n.load()
	return n.promote(found)
}

// Plain returns the set for an API that turned out not to support references: what the
// model has found is loaded like the rest, and what it finds from now on is called through
// the door.
func (s *Set) Plain() *Set {
	n := s.next()
	n.opts.References = false
	sealed := n.sealed
	n = n.Renew()
	n.sealed = sealed
	return n
}

// Load returns a set that describes the named tools from the first request. It is for a
// conversation that has not begun: a sealed set stays as it is.
func (s *Set) Load(names ...string) *Set {
	if s.sealed || len(names) == 0 {
		return s
	}
	return s.next().promote(names)
}

// promote loads tools that were deferred.
func (s *Set) promote(names []string) *Set {
	loaded := slices.Clone(s.loaded.tools)
	for _, name := range names {
		if t := s.names[name]; t != nil && s.known[name] == nil {
			s.known[name] = t
			loaded = append(loaded, t)
		}
	}
	s.loaded = newDefinitions(s, loaded)
	s.encode()
	return s
}
