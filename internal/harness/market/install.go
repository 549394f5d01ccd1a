package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/plugin"
	"github.com/haftdev/haft/internal/world/workspace/patch"
)

// A Plan is a plugin that was fetched and checked, and does not count yet.
type Plan struct {
	plugin.Record
	// Replaces is what is installed under its name; nil if nothing is.
	Replaces *plugin.Record
	// Brings is what it adds.
	Brings Brings
	// Programs are those that its hooks and servers run and that the user has not
	// installed before as they are.
	Programs []Program
	// Problems are what is wrong with its files.
	Problems []knowledge.Problem

	store    *Store
	temp     string // the folder that the prepared one is in
	prepared string
	unlock   func()
}

// copy puts the plugin's folder in place.
func (p *Plan) copy(ctx context.Context, tree string, c *catalog, e entry) error {
	src, err := c.source(e)
	if err != nil {
		return err
	}
	fetched := filepath.Join(p.temp, ".fetched")
	switch {
	case src.repository != nil:
		tree = fetched
		p.Commit, err = src.repository.clone(ctx, tree)
	case src.npm != nil:
		tree = fetched
		p.Commit, err = src.npm.fetch(ctx, tree)
	}
	if err != nil {
		return err
	}
	if err := os.Mkdir(p.prepared, 0o700); err != nil {
		return err
	}
	to, err := os.OpenRoot(p.prepared)
	if err != nil {
		return err
	}
	defer to.Close()
	base, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer base.Close()
	from, err := base.OpenRoot(filepath.FromSlash(src.dir))
	if err != nil {
		return fmt.Errorf("its folder %q is not in the marketplace, or leads out of it", src.dir)
	}
	defer from.Close()
	if p.Digest, err = copyFolder(from, to); err != nil {
		return err
	}
	return writeManifest(to, e)
}

// writeManifest makes the marketplace's entry the manifest of a plugin without one.
func writeManifest(to *os.Root, e entry) error {
	if _, err := to.Lstat(manifestName); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.raw, &fields); err != nil {
		return err
	}
	delete(fields, "source")
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return err
	}
	if err := to.MkdirAll(filepath.Dir(filepath.FromSlash(manifestName)), 0o700); err != nil {
		return err
	}
	return to.WriteFile(manifestName, text, 0o600)
}

var errEmpty = errors.New("it is not a plugin: it contains nothing that haft supports")

// look reads the prepared plugin as haft would, and what it replaces.
func (p *Plan) look() error {
	plugins, problems := plugin.Load([]plugin.Dir{{Path: p.prepared, Source: settings.User, Name: p.Plugin}})
	if len(plugins) == 0 {
		if len(problems) > 0 {
			return errors.New(strings.ReplaceAll(problems[0].String(), p.temp+string(filepath.Separator), ""))
		}
		return errEmpty
	}
	if plugins[0].Version != "" {
		p.Version = plugins[0].Version
	}
	target := p.store.path(pluginsDir, p.Plugin)
	var more []knowledge.Problem
	p.Brings, more = brings(plugins[0], target)
	p.Problems = append(problems, more...)
	if p.Brings.empty() {
		return errEmpty
	}
	p.Programs = p.Brings.programs()
	if _, err := os.Lstat(target); err != nil {
		return nil
	}
	old, ok := plugin.ReadRecord(target)
	if !ok {
		return fmt.Errorf("%s already exists and was not installed by haft: move or delete it first", target)
	}
	if old.Marketplace != p.Marketplace {
		return fmt.Errorf("a plugin of that name is installed from the marketplace %s: remove it first with 'haft plugin remove %s'", old.Marketplace, p.Plugin)
	}
	p.Replaces = &old
	if before, _ := plugin.Load([]plugin.Dir{{Path: target, Source: settings.User}}); len(before) > 0 {
		had, _ := brings(before[0], target)
		p.Programs = slices.DeleteFunc(p.Programs, func(now Program) bool {
			own := strings.Contains(now.Runs, target) || strings.Contains(now.Runs, "PLUGIN_ROOT") || strings.Contains(now.Runs, "SKILL_DIR") // its files may have changed
			return !own && slices.Contains(had.programs(), now)
		})
	}
	return nil
}

// Current reports whether the same is installed already.
func (p *Plan) Current() bool {
	return p.Replaces != nil && p.Replaces.Digest == p.Digest && p.Replaces.Version == p.Version
}

// Diff is what is different from what is installed, as a unified diff; "" if nothing is.
func (p *Plan) Diff() (string, error) {
	if p.Replaces == nil {
		return "", nil
	}
	before, err := filesBelow(p.store.path(pluginsDir, p.Plugin))
	if err != nil {
		return "", err
	}
	after, err := filesBelow(p.prepared)
	if err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(after))
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		old, now := before[name], after[name]
		switch {
		case !utf8.ValidString(old) || !utf8.ValidString(now):
			if old != now {
				fmt.Fprintf(&out, "Binary file %s differs\n", name)
			}
		default:
			out.WriteString(patch.Unified("a/"+name, "b/"+name, patch.Diff([]byte(old), []byte(now), 2)))
		}
	}
	return out.String(), nil
}

// filesBelow returns the files of a plugin, without haft's record. Links are their targets.
func filesBelow(dir string) (map[string]string, error) {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == plugin.RecordName {
			return err
		}
		var text []byte
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			files[filepath.ToSlash(name)] = "link to " + target + "\n"
			return err
		}
		text, err = os.ReadFile(path)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	return files, err
}

// Install makes the plugin count.
func (p *Plan) Install() error {
	if err := writeRecord(filepath.Join(p.prepared, plugin.RecordName), p.Record); err != nil {
		return err
	}
	return p.store.place(p.prepared, pluginsDir, p.Plugin)
}

// Close removes what was prepared and not installed.
func (p *Plan) Close() error {
	defer p.unlock()
	if p.temp == "" {
		return nil
	}
	return os.RemoveAll(p.temp)
}
