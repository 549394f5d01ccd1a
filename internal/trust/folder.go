package trust

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/pathin"
	"github.com/haftdev/haft/settings"
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

// Folder returns the project in dir. The store must lie outside of it: what a
// session may write to cannot say what the session may do.
func (s *Store) Folder(dir string) (*Folder, error) {
	root, err := FindRoot(dir)
	if err != nil {
		return nil, err
	}
	project, err := filepath.EvalSymlinks(dir)
	if err == nil {
		project, err = filepath.Abs(project)
	}
	if err != nil {
		return nil, fmt.Errorf("could not open the project: %w", err)
	}
	if s.path == "" {
		return s.folder(root, project)
	}
	store := s.path
	if real, err := filepath.EvalSymlinks(filepath.Dir(store)); err == nil {
		store = filepath.Join(real, filepath.Base(store))
	}
	if pathin.ContainsFold(project, store) {
		return nil, fmt.Errorf("could not open the project %s: %w: %s", project, ErrInside, s.path)
	}
	return s.folder(root, project)
}

func (s *Store) folder(root Root, project string) (*Folder, error) {
	in, err := filepath.Rel(root.Path, project)
	if err != nil {
		return nil, fmt.Errorf("could not open the project: %w", err)
	}
	return &Folder{store: s, root: root, project: project, in: filepath.ToSlash(in)}, nil
}

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
