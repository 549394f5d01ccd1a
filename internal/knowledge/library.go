package knowledge

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge/frontmatter"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/text/near"
)

// A Piece is one skill, command or agent.
type Piece struct {
	Kind Kind
	// Name is what it is called by: that of its plugin and its folders go before
	// its own, as in acme:deploy.
	Name string
	// Source is whose it is. Plugin is what brings it, from PluginDir; "" if
	// nothing does.
	Source            settings.Source
	Plugin, PluginDir string
	// Path is its file.
	Path   string
	Fields frontmatter.Fields
	// Body is the text below the fields.
	Body string
	// Digest stands for all that the file says.
	Digest string
}

// Hooks returns the hooks of a skill, a command or an agent as the settings file that they
// are written like; nil if it has none. An error means that nobody can know what they were
// to guard.
func (p Piece) Hooks() (*settings.File, error) {
	if p.Kind == Style || p.Kind == Tool || !p.Fields.Has("hooks") {
		return nil, nil
	}
	value, err := p.Fields.JSON("hooks")
	if err != nil {
		return nil, errHooks
	}
	file, err := ParseHooks(p.Source, p.Path, value)
	if file != nil && p.Plugin != "" {
		file.Shared = true
	}
	return file, err
}

// HookVars are the variables that the hooks of the piece have.
func (p Piece) HookVars() map[string]string {
	vars := map[string]string{}
	if p.Kind == Skill { // as in Claude Code
		dir := filepath.Dir(p.Path)
		vars["CLAUDE_PLUGIN_ROOT"], vars["HAFT_PLUGIN_ROOT"] = dir, dir
	}
	maps.Copy(vars, p.Vars(nil))
	return vars
}

// HookProblems are what is wrong with the hooks of the piece, which run all the same.
func (p Piece) HookProblems() (problems []Problem) {
	file, err := p.Hooks()
	if file == nil || err != nil {
		return nil // then it is not listed
	}
	for _, problem := range settings.Of(file).Problems() {
		if problem.Kind != settings.Unknown {
			problems = append(problems, Problem{Path: p.Path, Text: problem.About()})
		}
	}
	return problems
}

// hookRuns returns what the hooks of the piece run, and the same as people are told it.
func (p Piece) hookRuns() (runs, said []string, err error) {
	file, err := p.Hooks()
	if file == nil || err != nil {
		return nil, nil, err
	}
	for _, h := range settings.Of(file).Hooks() {
		runs = append(runs, fillIn(h.Line(), p.HookVars()))
	}
	return runs, HookTexts(file), nil
}

// fillIn puts values in the place of variables.
func fillIn(text string, vars map[string]string) string {
	var pairs []string
	for name, value := range vars {
		pairs = append(pairs, "${"+name+"}", value, "$"+name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// HookTexts say what the hooks of the piece run and when, for people.
func (p Piece) HookTexts() []string {
	_, said, _ := p.hookRuns() // one with an error is left out
	return said
}

// Vars returns what stands for what in the piece's text, beside what is given.
func (p Piece) Vars(given map[string]string) map[string]string {
	vars := map[string]string{}
	for _, prefix := range []string{"CLAUDE_", "HAFT_"} {
		if p.Kind == Skill {
			vars[prefix+"SKILL_DIR"] = filepath.Dir(p.Path)
		}
		if p.Kind == Tool {
			vars[prefix+"TOOL_DIR"] = filepath.Dir(p.Path)
		}
		if p.Plugin != "" {
			vars[prefix+"PLUGIN_ROOT"] = p.PluginDir
		}
	}
	maps.Copy(vars, given)
	return vars
}

// runs returns the texts of the piece that may name files to run.
func (p Piece) runs() []string {
	if p.Kind == Tool {
		return []string{fillIn(p.Fields.Text("command"), p.Vars(nil))}
	}
	runs, _, _ := p.hookRuns() // what is wrong with them was said
	for _, text := range append(prompt.Parse(p.Body).Commands(), p.Fields.List("allowed-tools")...) {
		runs = append(runs, fillIn(text, p.Vars(nil)))
	}
	return runs
}

// grants says what the piece would be allowed and run.
func (p Piece) grants() []string {
	var said []string
	say := func(what string, list ...string) {
		if text := strings.Join(list, ", "); text != "" {
			said = append(said, what+": "+text)
		}
	}
	if p.Kind == Tool {
		say("runs", p.Fields.Text("command"))
		return said
	}
	if p.Kind == Agent {
		say("tools", p.Fields.List("tools")...)
		say("mode", p.Fields.Text("permission-mode"))
	} else {
		say("allows", p.Fields.List("allowed-tools")...)
		for _, command := range prompt.Parse(p.Body).Commands() {
			say("runs", command)
		}
	}
	for _, hook := range p.HookTexts() {
		say("hook", hook)
	}
	return said
}

// A Library is the pieces of one kind in some places. It reads files when it is
// asked and not before, and each time again: what it says is what they say now.
type Library struct {
	kind   Kind
	places []Place
	trust  Trust

	mu   sync.Mutex
	docs map[string]parsed // by path
	// Until then the listing stands for what the files say; nil is one that is not made yet.
	until time.Time
	held  *Listing
}

// parsed is a text that need not be parsed again while it stays the same.
type parsed struct {
	text, digest string
	doc          frontmatter.Document
	err          error
}

// NewLibrary returns the pieces of a kind. Of two with one name the one whose
// place comes first counts.
func NewLibrary(kind Kind, places []Place, trust Trust) *Library {
	return &Library{kind: kind, places: slices.Clone(places), trust: trust, docs: map[string]parsed{}}
}

// A Listing is the current content of a library.
type Listing struct {
	// Pieces are the ones in effect, sorted by name.
	Pieces []Piece
	// Held are not in effect, because the user has not trusted them.
	Held []Claim
	// Problems are faults in files.
	Problems []Problem
}

// Hold lets the next listing stand for the files until then: a session that starts asks for
// it several times at once, and there may be thousands of files. It does not concern Read.
func (l *Library) Hold(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.held = until, nil
}

// List returns everything there is.
func (l *Library) List() Listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.until) {
		l.held = nil
		return l.list()
	}
	if l.held == nil {
		list := l.list()
		l.held = &list
	}
	return Listing{slices.Clone(l.held.Pieces), slices.Clone(l.held.Held), slices.Clone(l.held.Problems)}
}

func (l *Library) list() Listing {
	s := l.scan("")
	list := Listing{Held: s.held, Problems: s.problems}
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		list.Pieces = append(list.Pieces, s.found[name].Piece)
	}
	return list
}

// Read returns one piece by its name, or a skill by that of its folder; an error is a
// [*Missing].
func (l *Library) Read(name string) (Piece, error) {
	l.mu.Lock()
	s := l.scan(name)
	l.mu.Unlock()
	if f, ok := s.found[name]; ok {
		return f.Piece, nil
	}
	if f, ok := s.found[s.folders[name]]; ok {
		return f.Piece, nil
	}
	hint := Hint(name, slices.Sorted(maps.Keys(s.names)))
	held := len(s.held) > 0
	if held {
		hint = " A file in this project has that name but is not trusted in its current form; the user can review and trust it with: haft trust."
	}
	return Piece{}, &Missing{Kind: l.kind, Name: name, Hint: hint, Held: held}
}

// scan looks at all places. The caller holds mu.
func (l *Library) scan(only string) *scan {
	s := &scan{Library: l, only: only, found: map[string]found{}, names: map[string]bool{}, taken: map[string]int{}, folders: map[string]string{}, left: maxTotal}
	for i, p := range l.places {
		s.place(i, p)
	}
	return s
}

// Hint is a sentence, with a space before it, that names what may have been meant in
// place of a name, or else what there is.
func Hint(name string, names []string) string {
	const most = 30
	switch hint := near.Hint(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return " There are none."
	case len(names) > most:
		return fmt.Sprintf(" Available: %s and %d more.", strings.Join(names[:most], ", "), len(names)-most)
	}
	return " Available: " + strings.Join(names, ", ") + "."
}

// Missing is the error for a name that nothing has. It is written for a model.
type Missing struct {
	Kind Kind
	Name string
	Hint string // a sentence with a space before it; "" if there is none
	Held bool   // there is one, and nobody has agreed to it
}

func (m *Missing) Error() string {
	return fmt.Sprintf("There is no %s named %q.%s", strings.ReplaceAll(string(m.Kind), "-", " "), m.Name, m.Hint)
}
