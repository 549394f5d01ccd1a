package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/haftdev/haft/tool/schema"
)

// SearchName is the tool that finds deferred ones. If the pool does not have it, nothing is
// deferred.
const SearchName = "ToolSearch"

// A Set is the tools of a request. It never changes: [Set.Append], [Set.Reveal] and
// [Set.Next] return the set of a later request. A provider caches the tools before
// everything else, so once a conversation is in flight ([Set.Seal]), the loaded tools stay
// exactly the same bytes: tools that join later are found with ToolSearch, or called
// through the door.
type Set struct {
	session *Session
	tools   []*Tool          // the pool, in order
	names   map[string]*Tool // by name
	aliases map[string]*Tool // by older name
	refused []error
	off     []*Tool         // what the session does not enable
	absent  map[string]bool // names of missing tools that texts may mention
	opts    SetOptions

	loaded *definitions     // what the model is told from the first request
	found  []definition     // deferred tools that it has found since
	known  map[string]*Tool // the tools of both, by name, as they are described
	sealed bool
	news   []string
	array  func() []byte
}

// SetOptions choose from the available tools.
type SetOptions struct {
	// Only keeps the named built-in tools; nil keeps all. Foreign tools stay.
	Only []string
	// Denied removes a tool before the model sees it; nil removes none.
	Denied func(*Tool) bool
	// Known are the names of tools that descriptions may mention, in addition to the set's
	// own tools: what is said about a tool that is not in the set is left out.
	Known []string
	// Defer says which foreign tools are deferred; see [DeferOptions].
	Defer DeferOptions
	// References says that the model's API loads a deferred tool where a result refers to
	// it. Without it, ToolSearch describes what it finds in words, and the model calls it
	// through Door.
	References bool
	// Door is the tool that calls others which the request does not describe; nil means
	// none. It is part of a set that may need it: one with deferred tools or with Late, for
	// an API without references.
	Door *Tool
	// Late says that tools may join while the conversation runs.
	Late bool
	// Redirect says which tool is meant when a model calls one of these names; nil
	// redirects none. The target is not redirected again.
	Redirect map[string]string
}

// NewSet assembles a pool: built-ins by name, then foreign tools by name. A built-in takes
// precedence over a foreign tool of the same name. An incorrectly built tool is a mistake
// of the program, and NewSet panics with its name; an incorrect foreign tool is a mistake
// of its server, and is reported by [Set.Refused].
func NewSet(session *Session, builtins, foreign []Tool, opts *SetOptions) *Set {
	if opts == nil {
		opts = new(SetOptions)
	}
	s := &Set{session: new(Session), names: make(map[string]*Tool), aliases: make(map[string]*Tool), opts: *opts}
	if session != nil {
		*s.session = *session
		s.session.Flags, s.session.Lists = maps.Clone(session.Flags), maps.Clone(session.Lists)
	}
	s.add(s.choose(builtins, opts))
	if opts.Defer.Never {
		s.drop(SearchName)
	}
	s.absent = make(map[string]bool)
	for _, t := range builtins {
		s.absent[t.Name] = s.names[t.Name] == nil
	}
	for _, name := range opts.Known {
		s.absent[name] = s.names[name] == nil
	}
	maps.DeleteFunc(s.absent, func(_ string, absent bool) bool { return !absent })
	s.add(s.choose(foreign, opts))
	s.load()
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

// Disabled reports whether there is a tool of that name which the session does not enable,
// and what the tool says it needs.
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
		case opts.Only != nil && t.Source == "" && !slices.Contains(opts.Only, t.Name):
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

// add adds tools whose names are free.
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
		return errors.New("the name is already taken")
	}
	return t.checkCallable()
}

// Refused says which foreign tools are not in the set, and why.
func (s *Set) Refused() []error { return s.refused }

// drop takes a tool out of the pool.
func (s *Set) drop(name string) {
	if t := s.names[name]; t != nil {
		delete(s.names, name)
		s.tools = slices.DeleteFunc(s.tools, func(o *Tool) bool { return o == t })
	}
}

// load decides which tools are described from the first request on.
func (s *Set) load() {
	canDefer := s.canDefer()
	tooMuch := canDefer && s.opts.Defer.crowded(s)
	var loaded []*Tool
	for _, t := range s.tools {
		if !canDefer || !t.Deferred && (t.Source == "" || !tooMuch || t.always()) {
			loaded = append(loaded, t)
		}
	}
	if t := s.opts.Door; t != nil && !s.References() && (s.opts.Late || len(loaded) < len(s.tools)) && s.fits(t) == nil {
		s.add([]*Tool{t})
		loaded = append(loaded, t)
	}
	s.session.Tools = nil
	s.known = make(map[string]*Tool, len(loaded))
	for _, t := range s.tools {
		s.session.Tools = append(s.session.Tools, t.Name)
	}
	for _, t := range loaded {
		s.known[t.Name] = t
	}
	s.loaded = newDefinitions(s, loaded)
	s.found, s.news = nil, nil
	s.encode()
}

// canDefer reports whether a tool that is not described can be found.
func (s *Set) canDefer() bool {
	t := s.names[SearchName]
	return t != nil && t.Source == ""
}

// References reports whether what ToolSearch finds is loaded by a reference to it.
func (s *Set) References() bool { return s.opts.References && s.canDefer() }

// AlwaysLoad is a key of [Tool.Meta]: a foreign tool with the value true is always
// described, regardless of how many tools there are.
const AlwaysLoad = "alwaysLoad"

// Seal returns the set of a conversation that has begun: what is loaded stays as it is.
func (s *Set) Seal() *Set {
	if s.sealed {
		return s
	}
	n := s.next()
	n.sealed = true
	return n
}

// Append returns a set with late tools, sorted by name. A foreign tool whose name is taken
// is left out. Unless the set is sealed, they are described as if they had been there from
// the beginning.
func (s *Set) Append(late ...Tool) *Set {
	n := s.next()
	n.add(n.choose(late, &SetOptions{Denied: s.opts.Denied}))
	if !s.sealed {
		n.load()
		return n.Reveal(s.foundNames()...)
	}
	n.session.Tools = nil
	for _, t := range n.tools {
		n.session.Tools = append(n.session.Tools, t.Name)
	}
	return n
}

// Reveal returns a set in which the model knows the named deferred tools.
func (s *Set) Reveal(names ...string) *Set {
	n := s.next()
	for _, name := range names {
		if t := n.Lookup(name); t != nil && n.known[t.Name] == nil {
			n.known[t.Name] = t
			n.found = append(n.found, define(n, t, true))
		}
	}
	n.encode()
	return n
}

// define encodes what the model reads about t. A late tool is marked as loaded only where a
// result refers to it, so that it is not part of what the provider has cached.
func define(s *Set, t *Tool, late bool) definition {
	return definition{t, appendDefinition(nil, s, t, late)}
}

func (s *Set) foundNames() []string {
	var names []string
	for _, d := range s.found {
		names = append(names, d.tool.Name)
	}
	return names
}

// next returns a copy that can be grown without touching s.
func (s *Set) next() *Set {
	n := *s
	n.session = new(Session)
	*n.session = *s.session
	n.session.Tools = slices.Clip(s.session.Tools)
	n.tools, n.refused, n.found, n.news = slices.Clip(s.tools), slices.Clip(s.refused), slices.Clip(s.found), slices.Clip(s.news)
	n.names, n.aliases, n.known = maps.Clone(s.names), maps.Clone(s.aliases), maps.Clone(s.known)
	return &n
}

// Lookup finds a tool by its current or an older name; nil means that there is none.
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
		if s.known[t.Name] == nil {
			d = append(d, t)
		}
	}
	return d
}

// Found returns the deferred tools that the model has been shown since.
func (s *Set) Found() []*Tool {
	names := s.foundNames()
	var found []*Tool
	for _, t := range s.tools {
		if slices.Contains(names, t.Name) {
			found = append(found, t)
		}
	}
	return found
}

// Described reports whether the model has read about the tool of that name.
func (s *Set) Described(name string) bool { return s.known[name] != nil }

// Sealed reports whether the conversation has begun; see [Set.Seal].
func (s *Set) Sealed() bool { return s.sealed }

// Session returns the facts the set was assembled for.
func (s *Set) Session() *Session { return s.session }

// View returns the input schema of t as the model sees it.
func (s *Set) View(t *Tool) *schema.View { return t.Input.View(s.session.ViewOptions()) }

// ThroughDoor returns the call that a call of the door stands for. Name and input stay the
// same unless name is the door's and the input names a tool of the set.
func (s *Set) ThroughDoor(name string, input json.RawMessage) (string, json.RawMessage) {
	if name != DoorName || s.names[DoorName] == nil {
		return name, input
	}
	var in struct {
		Tool  string          `json:"tool"`
		Input json.RawMessage `json:"input"`
	}
	if json.Unmarshal(input, &in) != nil || in.Tool == DoorName || s.Called(in.Tool) == nil {
		return name, input
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil && json.Valid([]byte(text)) {
		in.Input = json.RawMessage(text) // an object that was written as a string
	}
	if len(in.Input) == 0 || string(in.Input) == "null" {
		in.Input = json.RawMessage("{}")
	}
	return in.Tool, in.Input
}

// Hint tells a model how to call a tool that its request does not describe.
func (s *Set) Hint(t *Tool) string {
	if s.names[DoorName] == nil {
		return fmt.Sprintf("Its input must match %s", s.View(t).JSON())
	}
	return fmt.Sprintf(`Call it as %s {"tool": %q, "input": …} with an input that matches %s`, DoorName, t.Name, s.View(t).JSON())
}

// mentioning returns describe without what it says about tools that are not in the set: a
// model that is told to use one would waste a call. Texts use the exact names of tools, so
// that this can be checked word by word.
func (s *Set) mentioning(describe func(*Session) string) func(*Session) string {
	return func(session *Session) string {
		text := describe(session)
		if len(s.absent) == 0 || !s.namesAbsent(text) {
			return text
		}
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			kept := s.keepPresent(line)
			if kept == "" && line != "" {
				continue
			}
			lines = append(lines, kept)
		}
		return strings.Join(lines, "\n")
	}
}

// keepPresent drops the sentences of a line, and the clauses after a semicolon, that name a
// missing tool.
func (s *Set) keepPresent(line string) string {
	if !s.namesAbsent(line) {
		return line
	}
	var sentences []string
	for _, sentence := range sentencesOf(line) {
		body, end := strings.TrimRight(sentence, ".:"), ""
		end = sentence[len(body):]
		var clauses []string
		for i, clause := range strings.Split(body, "; ") {
			if s.namesAbsent(clause) {
				if i == 0 {
					break // the rest hangs on it
				}
				continue
			}
			clauses = append(clauses, clause)
		}
		if len(clauses) > 0 {
			sentences = append(sentences, strings.Join(clauses, "; ")+end)
		}
	}
	kept := strings.Join(sentences, " ")
	if strings.HasPrefix(line, "- ") && kept != "" && !strings.HasPrefix(kept, "- ") {
		kept = "- " + kept
	}
	return kept
}

// sentencesOf splits at full stops that are followed by a blank and a capital letter or a
// quotation mark.
func sentencesOf(line string) (sentences []string) {
	from := 0
	for i := 0; i+2 < len(line); i++ {
		if line[i] != '.' || line[i+1] != ' ' {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(line[i+2:]); unicode.IsUpper(r) || r == '`' || r == '"' {
			sentences, from = append(sentences, line[from:i+1]), i+2
		}
	}
	return append(sentences, line[from:])
}

// namesAbsent reports whether a text names a tool that is not there.
func (s *Set) namesAbsent(text string) bool {
	from := -1 // where a word began
	for i, r := range text {
		inWord := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > unicode.MaxASCII && unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case inWord && from < 0:
			from = i
		case !inWord && from >= 0:
			if s.absent[text[from:i]] {
				return true
			}
			from = -1
		}
	}
	return from >= 0 && s.absent[text[from:]]
}

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

// encode makes the array of the set's request, when it is wanted.
func (s *Set) encode() {
	loaded := s.loaded
	var found []definition
	if s.References() {
		found = s.found
	}
	s.array = sync.OnceValue(func() []byte {
		all := loaded.array()
		if len(found) == 0 {
			return all
		}
		b := slices.Clip(all[:len(all)-1]) // without the bracket; other sets have the same array
		for _, d := range found {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, d.json...)
		}
		return append(b, ']')
	})
}

// Request returns the JSON array that describes tools to a model: those that are loaded
// and, if its API supports references, those that it has found. It is encoded once; the
// caller must not modify it.
func (s *Set) Request() json.RawMessage { return s.array() }

// Description returns what the model reads about t. If it panics, the panic names the tool.
func (s *Set) Description(t *Tool) string {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("tool %s: describe: %v", t.Name, p))
		}
	}()
	return t.Describe(s.session)
}
