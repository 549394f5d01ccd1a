// Package market installs plugins from marketplaces: folders or git repositories that list
// plugins in .claude-plugin/marketplace.json.
//
//	store, err := market.Open(home)
//	added, err := store.Add(ctx, "https://example.com/tools.git")
//	plan, err := store.Prepare(ctx, "review@tools")
//	defer plan.Close()
//	err = plan.Install() // once the user has seen plan.Brings
//
// Marketplaces are kept in ~/.haft/marketplaces, plugins in ~/.haft/plugins, where
// the package plugin finds them. Each is one folder with a record of where it is from,
// and becomes visible by one rename: what a killed process leaves is in folders whose
// names begin with a dot, and the next change removes it or puts it back.
//
// Trust: everything in a marketplace is hostile. Nothing of it is run: git works
// without hooks, filters, submodules and templates, over https and ssh only, and
// copies are bounded and hold plain files, folders and links that stay inside.
//
// A store may be used by several processes at once: changes hold a lock.
package market

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/sys/regular"
	"github.com/haftdev/haft/internal/text/near"
)

// A Store is what a user has installed, and from where.
type Store struct{ dir string }

// Open returns the store of a user. It makes nothing.
func Open(home string) (*Store, error) {
	if home == "" {
		return nil, errors.New("could not find your plugins: there is no home folder; set HOME")
	}
	return &Store{dir: filepath.Join(home, ".haft")}, nil
}

const (
	pluginsDir = "plugins"
	marketsDir = "marketplaces"

	// patience is how long to wait for another process that changes plugins.
	patience = 15 * time.Second
)

func (s *Store) path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// lock makes the caller the only one that changes the store, after what a killed one left
// was tidied up.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	for _, name := range []string{marketsDir, pluginsDir} {
		if err := os.MkdirAll(s.path(name), 0o755); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l := flock.New(s.path(marketsDir, ".lock"))
	if held, err := l.TryLockContext(ctx, 20*time.Millisecond); err != nil || !held {
		return nil, fmt.Errorf("could not lock %s: another haft is changing plugins; try again when it has finished", s.path(marketsDir))
	}
	if err := s.tidy(); err != nil {
		l.Close()
		return nil, err
	}
	return func() { l.Close() }, nil
}

const (
	newPrefix = ".new-" // not installed yet
	oldPrefix = ".old-" // replaced, or about to be
)

// tidy removes what a killed process left, and puts back what it was about to replace.
func (s *Store) tidy() error {
	for _, kind := range []string{marketsDir, pluginsDir} {
		entries, err := os.ReadDir(s.path(kind))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := s.tidyOne(kind, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) tidyOne(kind, left string) error {
	if strings.HasPrefix(left, newPrefix) {
		return os.RemoveAll(s.path(kind, left))
	}
	name, ok := strings.CutPrefix(left, oldPrefix)
	if !ok {
		return nil
	}
	if _, err := os.Lstat(s.path(kind, name)); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(s.path(kind, left), s.path(kind, name))
	}
	return os.RemoveAll(s.path(kind, left))
}

// place makes a prepared folder the one of a name. If there was one, it is moved aside
// first: whatever moment this ends at, tidy finds the old one or the new one whole.
func (s *Store) place(prepared, kind, name string) error {
	old := s.path(kind, oldPrefix+name)
	if err := os.Rename(s.path(kind, name), old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(prepared, s.path(kind, name)); err != nil {
		if back := os.Rename(old, s.path(kind, name)); back != nil && !errors.Is(back, fs.ErrNotExist) {
			err = errors.Join(err, back)
		}
		return err
	}
	return os.RemoveAll(old)
}

// drop removes a folder. Renamed first, it is gone at once or not at all.
func (s *Store) drop(kind, name string) error {
	gone := s.path(kind, newPrefix+name)
	if err := os.Rename(s.path(kind, name), gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// Prepare fetches a plugin, named NAME or NAME@MARKETPLACE, up to the last step. The
// store is locked until the plan is closed.
func (s *Store) Prepare(ctx context.Context, id string) (p *Plan, err error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	p = &Plan{store: s, unlock: unlock}
	defer func() {
		if err != nil {
			p.Close()
			p, err = nil, fmt.Errorf("could not install %s: %w", id, err)
		}
	}()
	o, c, e, err := s.choose(id)
	if err != nil {
		return p, err
	}
	p.Record = plugin.Record{Plugin: e.Name, Marketplace: c.Name, Version: e.Version, Commit: o.Commit}
	if p.temp, err = os.MkdirTemp(s.path(pluginsDir), newPrefix); err != nil {
		return p, err
	}
	p.prepared = filepath.Join(p.temp, e.Name)
	if err := p.copy(ctx, s.tree(c.Name, o), c, e); err != nil {
		return p, err
	}
	return p, p.look()
}

// choose finds a plugin in the marketplaces.
func (s *Store) choose(id string) (o origin, c *catalog, e entry, err error) {
	name, market, named := strings.Cut(id, "@")
	markets := []string{market}
	if !named {
		markets = s.folders(marketsDir)
	}
	var in, offered []string
	for _, m := range markets {
		from, err := s.origin(m)
		if err != nil {
			return o, nil, e, err
		}
		root, err := os.OpenRoot(s.tree(m, from))
		if err != nil {
			return o, nil, e, err
		}
		list, err := readCatalog(root)
		if err = errors.Join(err, root.Close()); err != nil {
			return o, nil, e, fmt.Errorf("the marketplace %s: %w", m, err)
		}
		if list.Name != m {
			return o, nil, e, fmt.Errorf("the marketplace %s is now called %s; remove it and add it again", m, list.Name)
		}
		for _, found := range list.entries {
			offered = append(offered, found.Name)
			if found.Name == name {
				o, c, e = from, list, found
				in = append(in, name+"@"+m)
			}
		}
	}
	switch {
	case len(in) > 1:
		return o, nil, e, fmt.Errorf("several marketplaces offer it; choose one: %s", strings.Join(in, ", "))
	case len(in) == 0 && len(markets) == 0:
		return o, nil, e, errors.New("there is no marketplace; add one with 'haft plugin marketplace add'")
	case len(in) == 0:
		return o, nil, e, fmt.Errorf("no marketplace offers it.%s See 'haft plugin marketplace list'", near.Hint(name, offered))
	}
	return o, c, e, nil
}

// Installed returns the plugins that haft has installed for the user.
func (s *Store) Installed() []plugin.Record {
	var all []plugin.Record
	for _, name := range s.folders(pluginsDir) {
		if r, ok := plugin.ReadRecord(s.path(pluginsDir, name)); ok {
			all = append(all, r)
		}
	}
	return all
}

// Find returns an installed plugin by NAME or NAME@MARKETPLACE.
func (s *Store) Find(id string) (plugin.Record, error) {
	all := s.Installed()
	if i := slices.IndexFunc(all, func(r plugin.Record) bool { return r.Plugin == id || r.ID() == id }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Plugin)
	}
	return plugin.Record{}, fmt.Errorf("haft has not installed a plugin %q.%s See 'haft plugin list'", id, near.Hint(id, names))
}

// Uninstall removes a plugin that haft has installed.
func (s *Store) Uninstall(ctx context.Context, id string) (plugin.Record, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return plugin.Record{}, err
	}
	defer unlock()
	r, err := s.Find(id)
	if err != nil {
		return r, err
	}
	return r, s.drop(pluginsDir, r.Plugin)
}

// origin is the record of a marketplace.
type origin struct {
	Folder     string     `json:"folder,omitempty"`
	Repository repository `json:"repository,omitzero"`
	Local      bool       `json:"local,omitempty"` // the user has typed a file URL
	Commit     string     `json:"commit,omitempty"`
	// File is the address of a marketplace.json that is fetched alone. Its plugins are
	// elsewhere.
	File string `json:"file,omitempty"`
}

const (
	originName = "origin.json"
	treeName   = "tree"
)

// Add adds a marketplace: a folder, OWNER/NAME at GitHub, the address of a git repository,
// with #REF after it for a branch or tag, or that of a marketplace.json.
func (s *Store) Add(ctx context.Context, place string) (Marketplace, error) {
	o, err := newOrigin(place)
	if err != nil {
		return Marketplace{}, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Marketplace{}, err
	}
	defer unlock()
	return s.fetch(ctx, o, "")
}

func newOrigin(place string) (origin, error) {
	if info, err := os.Stat(place); err == nil && info.IsDir() {
		dir, err := filepath.Abs(place)
		return origin{Folder: dir}, err
	}
	if isCatalog(place) {
		return origin{File: place}, nil
	}
	address, ref, _ := strings.Cut(place, "#")
	o := origin{Repository: repository{URL: address, Ref: ref, local: strings.HasPrefix(address, "file://")}}
	if full, err := github(address); err == nil {
		o.Repository.URL = full
	} else if !strings.Contains(address, ":") {
		return o, fmt.Errorf("could not add the marketplace %q: there is no such folder, and it is not the address of a git repository", place)
	}
	o.Local = o.Repository.local
	return o, o.Repository.check()
}

// fetch gets a marketplace and keeps it under its own name, which must be name unless that
// is "": then it must be new.
func (s *Store) fetch(ctx context.Context, o origin, name string) (Marketplace, error) {
	prepared, err := os.MkdirTemp(s.path(marketsDir), newPrefix)
	if err != nil {
		return Marketplace{}, err
	}
	defer os.RemoveAll(prepared)
	tree := o.Folder
	if tree == "" {
		tree = filepath.Join(prepared, treeName)
		if o.File != "" {
			err = fetchCatalog(ctx, o.File, tree)
		} else {
			o.Commit, err = o.Repository.clone(ctx, tree)
		}
		if err != nil {
			return Marketplace{}, err
		}
	}
	m, err := offers(tree, o)
	if err != nil {
		return Marketplace{}, fmt.Errorf("could not use the marketplace %s: %w", m.Source, err)
	}
	_, err = os.Lstat(s.path(marketsDir, m.Name))
	switch {
	case name == "" && err == nil:
		return Marketplace{}, fmt.Errorf("could not add the marketplace: there is already one named %s; update it with 'haft plugin marketplace update %[1]s' or remove it first", m.Name)
	case name != "" && m.Name != name:
		return Marketplace{}, fmt.Errorf("could not update the marketplace %s: it is now called %s; remove it and add it again", name, m.Name)
	}
	if err := writeRecord(filepath.Join(prepared, originName), o); err != nil {
		return Marketplace{}, err
	}
	return m, s.place(prepared, marketsDir, m.Name)
}

// offers reads what the marketplace in a folder offers.
func offers(tree string, o origin) (Marketplace, error) {
	m := Marketplace{Source: o.Folder, Ref: o.Repository.Ref, Commit: o.Commit, Plugins: []Offer{}}
	if m.Source == "" {
		m.Source = cmp.Or(o.File, o.Repository.URL)
	}
	root, err := os.OpenRoot(tree)
	if err != nil {
		return m, err
	}
	defer root.Close()
	c, err := readCatalog(root)
	if err != nil {
		return m, err
	}
	m.Name = c.Name
	for _, e := range c.entries {
		m.Plugins = append(m.Plugins, Offer{Name: e.Name, Description: e.Description, Version: e.Version})
	}
	return m, nil
}

// Marketplaces returns those that were added, by their names.
func (s *Store) Marketplaces() []Marketplace {
	var all []Marketplace
	for _, name := range s.folders(marketsDir) {
		o, err := s.origin(name)
		var m Marketplace
		if err == nil {
			m, err = offers(s.tree(name, o), o)
		}
		if err == nil && m.Name != name {
			err = fmt.Errorf("it is now called %s; remove it and add it again", m.Name)
		}
		if err != nil {
			m.Problem = err.Error()
		}
		m.Name = name
		all = append(all, m)
	}
	return all
}

// folders returns the names of what is installed.
func (s *Store) folders(kind string) []string {
	var names []string
	entries, _ := os.ReadDir(s.path(kind)) // none are there before the first
	for _, e := range entries {
		if e.IsDir() && knowledge.ValidName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// origin reads the record of a marketplace.
func (s *Store) origin(name string) (o origin, err error) {
	if !slices.Contains(s.folders(marketsDir), name) {
		return o, fmt.Errorf("there is no marketplace %q.%s See 'haft plugin marketplace list'", name, near.Hint(name, s.folders(marketsDir)))
	}
	text, err := regular.Read(s.path(marketsDir, name, originName), maxCatalog)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	o.Repository.local = o.Local
	return o, err
}

// tree is the folder that a marketplace's files are in.
func (s *Store) tree(name string, o origin) string {
	if o.Folder != "" {
		return o.Folder
	}
	return s.path(marketsDir, name, treeName)
}

// Update fetches marketplaces again; no names mean all. One that cannot be fetched stays
// as it was.
func (s *Store) Update(ctx context.Context, names ...string) ([]Marketplace, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if len(names) == 0 {
		names = s.folders(marketsDir)
	}
	updated := []Marketplace{}
	var errs []error
	for _, name := range names {
		o, err := s.origin(name)
		if err == nil {
			var m Marketplace
			if m, err = s.fetch(ctx, o, name); err == nil {
				updated = append(updated, m)
			}
		}
		errs = append(errs, err)
	}
	return updated, errors.Join(errs...)
}

// Remove forgets a marketplace. Plugins from it stay.
func (s *Store) Remove(ctx context.Context, name string) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !slices.Contains(s.folders(marketsDir), name) {
		_, err := s.origin(name)
		return err
	}
	return s.drop(marketsDir, name)
}

// updatesName is the file with what the last check found.
const updatesName = ".updates.json"

// Check fetches the marketplaces of installed plugins and keeps what is newer there. It
// installs nothing.
func (s *Store) Check(ctx context.Context) ([]Update, error) {
	found := []Update{}
	var markets []string
	for _, r := range s.Installed() {
		if !slices.Contains(markets, r.Marketplace) {
			markets = append(markets, r.Marketplace)
		}
	}
	if len(markets) == 0 {
		return found, nil
	}
	_, err := s.Update(ctx, markets...)
	errs := []error{err}
	for _, r := range s.Installed() {
		p, err := s.Prepare(ctx, r.ID())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !p.Current() {
			found = append(found, Update{r.ID(), r.Version, p.Version, p.Digest})
		}
		errs = append(errs, p.Close())
	}
	text, err := json.Marshal(found)
	if err == nil {
		err = os.WriteFile(s.path(marketsDir, updatesName), text, 0o600)
	}
	return found, errors.Join(append(errs, err)...)
}

// Found returns what the last check found and the user has not installed since, and when
// that was.
func (s *Store) Found() (updates []Update, at time.Time) {
	info, err := os.Lstat(s.path(marketsDir, updatesName))
	if err != nil {
		return nil, time.Time{}
	}
	text, err := regular.Read(s.path(marketsDir, updatesName), maxCatalog)
	if err != nil || json.Unmarshal(text, &updates) != nil {
		return nil, time.Time{}
	}
	return slices.DeleteFunc(updates, func(u Update) bool {
		r, err := s.Find(u.ID)
		return err != nil || r.Digest == u.Digest
	}), info.ModTime()
}

// writeRecord writes a record into a folder that nobody sees yet.
func writeRecord(path string, record any) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// readCatalog reads what a marketplace offers.
func readCatalog(tree *os.Root) (*catalog, error) {
	f, err := tree.Open(catalogName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it is not a marketplace: it has no %s", catalogName)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", catalogName)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxCatalog+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxCatalog {
		return nil, fmt.Errorf("%s is larger than %d MiB", catalogName, maxCatalog>>20)
	}
	var c catalog
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", catalogName, err)
	}
	return &c, c.check()
}
