package trust

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// A Folder is a project in the light of a store.
type Folder struct {
	store   *Store
	root    Root
	project string // without links
	in      string // the project seen from the root
}

// ErrInside is what errors are for a project that the store itself lies in, such as
// a home folder.
var ErrInside = errors.New("the trust store is inside it")

// Root returns what trust in the project belongs to.
func (f *Folder) Root() Root { return f.root }

// Items returns everything in the settings that counts only if it is trusted, in
// the order of the files.
func (f *Folder) Items(s *settings.Settings) []Item {
	h := f.newHasher()
	defer h.close()
	var items []Item
	walk(s, func(p settings.Place, r ruling) settings.Choice {
		if r.item != nil {
			items = append(items, f.item(r.item, p.Origin, h))
		}
		return settings.Drop
	})
	return items
}

// Trusted reports whether a user has agreed to the item as it is.
func (f *Folder) Trusted(item Item) (bool, error) {
	kept, err := f.store.hashes(f.root)
	return f.trusts(kept, item), err
}

// trusts reports whether an item is lent, or kept and bound to all that it runs.
func (f *Folder) trusts(kept map[string]bool, item Item) bool {
	return f.store.lends(f.root, item.Hash) || item.Unbound == "" && kept[item.Hash]
}

// Lend trusts items as they are now, until the store is dropped. Nothing is kept.
func (f *Folder) Lend(items ...Item) { f.store.lend(f.root, items) }

// Grant keeps that a user agreed to the items. Those that are not bound to what they
// run are only lent: they are asked for at each start.
func (f *Folder) Grant(ctx context.Context, items ...Item) error {
	items = slices.DeleteFunc(slices.Clone(items), func(i Item) bool {
		if i.Unbound != "" {
			f.Lend(i)
		}
		return i.Unbound != ""
	})
	if len(items) == 0 {
		return nil
	}
	now := time.Now().UTC().Truncate(time.Second)
	return f.store.change(ctx, f.root, func(have []grant) []grant {
		known := make(map[string]bool, len(have))
		for _, g := range have {
			known[g.Hash] = true
		}
		for _, i := range items {
			if !known[i.Hash] {
				known[i.Hash] = true
				have = append(have, grant{i.Hash, i.Kind, i.Name, now})
			}
		}
		return have
	})
}

// Revoke takes trust in the items back.
func (f *Folder) Revoke(ctx context.Context, items ...Item) error {
	revoked := make(map[string]bool, len(items))
	for _, i := range items {
		revoked[i.Hash] = true
	}
	f.store.takeBack(f.root, func(hash string) bool { return revoked[hash] })
	return f.store.change(ctx, f.root, func(have []grant) []grant {
		return slices.DeleteFunc(have, func(g grant) bool { return revoked[g.Hash] })
	})
}

// RevokeAll takes all trust in the folder back, items that are gone included.
func (f *Folder) RevokeAll(ctx context.Context) error {
	f.store.takeBack(f.root, func(string) bool { return true })
	return f.store.change(ctx, f.root, func([]grant) []grant { return nil })
}

// Rule returns the item that an allow rule in the project's settings is. Whoever
// keeps a rule there for a user grants it too.
func (f *Folder) Rule(rule string) Item { return f.Item(AllowRule, rule, rule) }

// Item returns an item that is not read from settings: what another package binds
// trust to, such as a command in a git config.
func (f *Folder) Item(kind Kind, name, text string) Item {
	return f.item(&subject{kind: kind, name: name, text: text, value: text}, settings.Origin{Source: settings.Local}, &hasher{})
}

// Hook returns the item that a hook is, with the files of the project that it runs,
// whoever has set it up.
func (f *Folder) Hook(h settings.Hook) Item {
	hash := f.newHasher()
	defer hash.close()
	return f.item(hookSubject(h), h.Origin, hash)
}

// item makes an item of a subject.
func (f *Folder) item(s *subject, at settings.Origin, h *hasher) Item {
	value := s.value
	text := s.text
	if s.kind == Directory {
		if real := f.resolve(s.text); real != s.text {
			value, text = []string{s.text, real}, s.text+" → "+real
		}
	}
	files, unbound := h.content(s.runs), ""
	if s.shell != "" {
		if files == nil {
			files = make(map[string]string)
		}
		unbound = h.bind(s.shell, files)
	}
	if s.kind != Hook {
		unbound = "" // a server and a helper guard nothing
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return strings.HasPrefix(name, "$") })
	if len(names) == 0 {
		names = nil
	}
	if len(files) == 0 {
		files = nil // its hash is that of an item without any
	}
	return Item{
		Kind: s.kind, Name: s.name, Text: text, Origin: at,
		Files: names, Guards: s.guards, Unbound: unbound,
		Hash: form{s.kind, s.name, f.in, value, files}.hash(),
	}
}

// resolve returns the folder that a directory of the settings is, without links:
// a link that points elsewhere later is another folder.
func (f *Folder) resolve(dir string) string {
	if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~") {
		dir = filepath.Join(f.project, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// Claim returns the item that a skill, a command or an agent of the project is. It
// is bound to all that the file says, to the files that belong to it and to those
// that its commands and rules name, wherever in the project they lie.
func (f *Folder) Claim(c knowledge.Claim) Item {
	kind := Kind(c.Kind)
	files := maps.Clone(c.Files)
	for path, sum := range f.named(c.Runs) {
		if files == nil {
			files = map[string]string{}
		}
		files["/"+path] = sum // from the root, where others are from the file
	}
	return Item{
		Kind: kind, Name: c.Name, Text: c.Text,
		Origin: settings.Origin{Source: settings.Project, File: c.Path, Line: 1},
		Files:  slices.Sorted(maps.Keys(files)),
		Grants: c.Grants,
		Hash:   form{kind, c.Name, f.in, claimed(c), files}.hash(),
	}
}

// claimed is what a claim says. Hooks of agents and commands did not always run: who agreed
// to one of the same text then is asked again.
func claimed(c knowledge.Claim) any {
	if !c.Hooks || c.Kind == knowledge.Skill {
		return c.Text
	}
	return struct {
		Text  string `json:"text"`
		Hooks bool   `json:"hooks"`
	}{c.Text, true}
}

// named returns the hashes of the files that commands and rules name.
func (f *Folder) named(texts []string) map[string]string {
	if len(texts) == 0 {
		return nil
	}
	h := f.newHasher()
	defer h.close()
	all := make(map[string]string)
	for _, text := range texts {
		found := h.content([]string{strings.NewReplacer(":*", " ", "*", " ").Replace(text)})
		b := h.newBinder()
		b.command(text)
		maps.DeleteFunc(found, func(name, _ string) bool { return b.written[name] && b.found[name] == "" })
		maps.Copy(all, found)
	}
	return all
}

// Agreed reports whether a user has agreed to a claim as it is. Where that
// cannot be known, nobody has.
func (f *Folder) Agreed(c knowledge.Claim) bool {
	ok, err := f.Trusted(f.Claim(c))
	return err == nil && ok
}

// Outside returns the item that stands for a file of the project including one
// from outside of it.
func (f *Folder) Outside(from, path string) Item {
	return f.Item(Include, path, from+" includes "+path)
}

const (
	hashBudget = 64 << 20
	maxOpens   = 10_000
)

func (f *Folder) newHasher() *hasher {
	h := &hasher{base: f.root.Path, project: f.project, sums: map[string]string{}, budget: hashBudget, opens: maxOpens}
	h.root, _ = os.OpenRoot(f.root.Path)
	return h
}

// Filter returns the settings in which everything counts, and what was left out of
// them. On an error, such as a store that cannot be read, nothing is trusted; the
// settings are good all the same.
func (f *Folder) Filter(s *settings.Settings) (*settings.Settings, []Held, error) {
	h := f.newHasher()
	defer h.close()
	trusted, err := f.store.hashes(f.root)
	var held []Held
	kept := walk(s, func(p settings.Place, r ruling) settings.Choice {
		if r.never != "" {
			unnamed := Item{Kind: Setting, Name: strings.Join(p.Path, "."), Text: string(p.JSON), Origin: p.Origin}
			held = append(held, Held{unnamed, r.never})
			return settings.Drop
		}
		item := f.item(r.item, p.Origin, h)
		if !f.trusts(trusted, item) {
			held = append(held, Held{Item: item})
			return settings.Drop
		}
		return settings.Keep
	})
	return kept, held, err
}

// Named returns the files of the project that a value of the settings names to be run: a
// command, or an object with a command such as that of an MCP server. One that does not exist
// yet is among them if it is named as a path. They are absolute, and some may lie elsewhere.
func (f *Folder) Named(value json.RawMessage) []string {
	return f.run(value, func(program string) bool { return !slices.Contains(scriptRunners, program) })
}

// Runs returns the files of Named, and those by which a program finds out what to run, such as
// Cargo.toml.
func (f *Folder) Runs(value json.RawMessage) []string {
	return f.run(value, func(program string) bool { return slices.Contains(fetchers, program) })
}

func (f *Folder) run(value json.RawMessage, skips func(program string) bool) []string {
	h := f.newHasher()
	defer h.close()
	h.budget, h.skips = 0, skips // what is in the files does not matter
	decoded := decode(value)
	command, _ := decoded.(string)
	if object, ok := decoded.(map[string]any); ok {
		command = commandLine(decoded)
		if dir, _ := object["cwd"].(string); dir != "" {
			h.project = f.resolve(dir)
		}
	}
	files := make(map[string]string)
	h.bind(command, files)
	var out []string
	for name := range files {
		if !strings.HasPrefix(name, "$") {
			out = append(out, filepath.Join(h.base, name))
		}
	}
	for _, text := range stringsIn(decoded) {
		for _, path := range paths(text, h.project) {
			info, err := os.Stat(path)
			rel, below := pathin.Below(h.base, path)
			if err == nil && info.Mode().IsRegular() || err != nil && below && strings.Contains(rel, string(filepath.Separator)) {
				out = append(out, path)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var (
	// scriptRunners run the scripts that are written in their files. What the files of others
	// say is about the project, and only then about what they run.
	scriptRunners = strings.Fields("npm pnpm yarn bun make gmake bmake just task mise rake invoke inv")
	// fetchers run packages.
	fetchers = strings.Fields("npx pnpx bunx")
)
