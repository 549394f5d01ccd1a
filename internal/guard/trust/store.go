package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/haftdev/haft/internal/config/rewrite"
	"github.com/haftdev/haft/internal/sys/pathin"
)

// A Store is the file that keeps what people have trusted, and what is trusted for
// as long as the store is used.
type Store struct {
	path string // "" means none

	mu   sync.Mutex
	lent map[lending]bool

	reading sync.Mutex
	last    *reading
	reads   int // how often the file was parsed
}

// A reading is what the file held when it was parsed. It stands for the file while that is
// the same one, unchanged: a start asks about each of perhaps thousands of items.
type reading struct {
	info   fs.FileInfo
	hashes map[Root]map[string]bool
}

// of reports whether the reading is that of a file as it is now. Whoever changes the
// store replaces the file.
func (r *reading) of(now fs.FileInfo) bool {
	return r != nil && os.SameFile(r.info, now) && r.info.Size() == now.Size() && r.info.ModTime().Equal(now.ModTime()) && r.info.Mode() == now.Mode()
}

// A lending is an item that is trusted without being kept.
type lending struct {
	root Root
	hash string
}

// NewStore returns the store in a file, which need not exist; see [DefaultPath]. One
// without a file can only lend.
func NewStore(path string) *Store { return &Store{path: path, lent: make(map[lending]bool)} }

// lend trusts items until the store is dropped.
func (s *Store) lend(root Root, items []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range items {
		s.lent[lending{root, i.Hash}] = true
	}
}

func (s *Store) lends(root Root, hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lent[lending{root, hash}]
}

// takeBack ends the lending of items by their hashes.
func (s *Store) takeBack(root Root, which func(hash string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.lent, func(l lending, _ bool) bool { return l.root == root && which(l.hash) })
}

// DefaultPath returns the usual place of the store, in the user's config folder.
func DefaultPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("could not find the trust store: %w", err)
	}
	return filepath.Join(dir, "haft", "trust.json"), nil
}

// record is the store as JSON.
type record struct {
	Version int       `json:"version"`
	Folders []*grants `json:"folders"`
}

// grants are what is trusted in one folder.
type grants struct {
	Root
	Items []grant `json:"items"`
}

// A grant is one item that a user agreed to. Kind and name are for people who
// read the file.
type grant struct {
	Hash string    `json:"hash"`
	Kind Kind      `json:"kind"`
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

const version = 1

// of returns the grants of a folder; nil if there are none.
func (r *record) of(root Root) *grants {
	for _, g := range r.Folders {
		if g.Root == root {
			return g
		}
	}
	return nil
}

// hashes returns what the file says is trusted in a folder. A file that others could have
// written holds nothing. Callers do not change the map.
func (s *Store) hashes(root Root) (map[string]bool, error) {
	if s.path == "" {
		return nil, nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if now, err := os.Stat(s.path); err == nil && s.last.of(now) {
		return s.last.hashes[root], nil
	}
	s.last = nil
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("could not read the trust store: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("could not read the trust store: %w", err)
	}
	r, err := s.read(f, info)
	if err != nil {
		return nil, err
	}
	s.last = &reading{info: info, hashes: make(map[Root]map[string]bool, len(r.Folders))}
	for _, g := range r.Folders {
		if s.last.hashes[g.Root] != nil {
			continue // the first counts
		}
		hashes := make(map[string]bool, len(g.Items))
		for _, i := range g.Items {
			hashes[i.Hash] = true
		}
		s.last.hashes[g.Root] = hashes
	}
	return s.last.hashes[root], nil
}

// forget has the file parsed again: one written twice between two ticks of the clock may
// look as it did.
func (s *Store) forget() {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.last = nil
}

func (s *Store) read(f *os.File, info fs.FileInfo) (*record, error) {
	s.reads++
	if info.Mode().Perm()&0o022 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("could not use the trust store: others may write to %s. Check its contents, then run: chmod 600 %s", s.path, s.path)
	}
	text, err := rewrite.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("could not read the trust store %s: %w", s.path, err)
	}
	return s.parse(text)
}

func (s *Store) parse(text []byte) (*record, error) {
	r := &record{Version: version}
	if text == nil {
		return r, nil
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("could not read the trust store %s: %w", s.path, err)
	}
	if r.Version != version {
		return nil, fmt.Errorf("could not read the trust store %s: it has version %d, but this haft supports version %d", s.path, r.Version, version)
	}
	return r, nil
}

// change rewrites the grants of one folder.
func (s *Store) change(ctx context.Context, root Root, edit func([]grant) []grant) error {
	if s.path == "" {
		return errors.New("could not save trust: there is no config folder to save it in. Set HOME or XDG_CONFIG_HOME")
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("could not save trust: %w", err)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("could not save trust: %w", err)
	}
	defer folder.Close()
	defer s.forget()
	err = rewrite.File(ctx, folder, filepath.Base(s.path), func(text []byte) ([]byte, error) {
		r, err := s.parse(text)
		if err != nil {
			return nil, err
		}
		g := r.of(root)
		if g == nil {
			g = &grants{Root: root}
			r.Folders = append(r.Folders, g)
		}
		g.Items = edit(g.Items)
		r.Folders = slices.DeleteFunc(r.Folders, func(g *grants) bool { return len(g.Items) == 0 })
		text, err = json.MarshalIndent(r, "", "  ")
		return append(text, '\n'), err
	}, &rewrite.Options{Perm: 0o600, DirPerm: 0o700})
	if err != nil {
		return fmt.Errorf("could not save trust in %s: %w", s.path, err)
	}
	return nil
}

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
