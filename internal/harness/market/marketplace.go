package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/internal/regular"
)

// A Marketplace is one that the user has added.
type Marketplace struct {
	Name string `json:"name"`
	// Source is the folder, or the address of the repository.
	Source string `json:"source"`
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Plugins are those that it offers.
	Plugins []Offer `json:"plugins"`
	// Problem is why it cannot be used; "" if it can.
	Problem string `json:"problem,omitempty"`
}

// An Offer is a plugin of a marketplace.
type Offer struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version,omitempty"`
}

// origin is the record of a marketplace.
type origin struct {
	Folder     string     `json:"folder,omitempty"`
	Repository repository `json:"repository,omitzero"`
	Local      bool       `json:"local,omitempty"` // the user has typed a file URL
	Commit     string     `json:"commit,omitempty"`
}

const (
	originName = "origin.json"
	treeName   = "tree"
)

// Add adds a marketplace: a folder, OWNER/NAME at GitHub or the address of a git
// repository, with #REF after it for a branch or tag.
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
		if o.Commit, err = o.Repository.clone(ctx, tree); err != nil {
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
		m.Source = o.Repository.URL
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
