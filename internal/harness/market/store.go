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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
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
