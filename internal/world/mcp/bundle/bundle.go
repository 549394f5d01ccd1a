// Package bundle reads MCP bundles (.mcpb, formerly .dxt): a zip archive with a server and
// a manifest that says how to start it and what the user has to set.
//
//	b, err := bundle.Open("tracker.mcpb")
//	defer b.Close()
//	entry, err := b.Entry(dir, map[string][]string{"token": {"${TOKEN}"}})
//	err = b.Unpack(dir)
//
// A bundle comes from a stranger: nothing is written outside dir, links and devices are
// refused, and sizes are counted as they are unpacked. A Bundle is for one goroutine.
package bundle

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/world/mcp"
)

// Bounds of what is unpacked.
const (
	maxManifest = 1 << 20
	maxFiles    = 50_000
	maxBytes    = 1 << 30
)

// A Bundle is an open bundle.
type Bundle struct {
	Manifest Manifest
	zip      *zip.ReadCloser
}

// A Manifest is what a bundle says about its server.
type Manifest struct {
	Name        string             `json:"name"`
	Version     string             `json:"version"`
	Description string             `json:"description"`
	Server      server             `json:"server"`
	UserConfig  map[string]Setting `json:"user_config"`
	Compatible  struct {
		Platforms []string `json:"platforms"`
	} `json:"compatibility"`
}

// settings checks what the user has set, and adds what need not be set.
func (m *Manifest) settings(values map[string][]string) (map[string][]string, error) {
	for name := range values {
		if _, ok := m.UserConfig[name]; !ok {
			return nil, fmt.Errorf("the bundle %s has no setting %q; it has: %s", m.Name, name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(m.UserConfig)), ", "), "none"))
		}
	}
	set := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.UserConfig)) {
		s := m.UserConfig[name]
		given := values[name]
		if given == nil {
			given = s.defaults()
		} else if err := s.check(name, given); err != nil {
			return nil, err
		}
		if given == nil && s.Required {
			return nil, fmt.Errorf("the bundle %s needs the setting %s (%s): add --config %s=…", m.Name, name, strings.TrimSpace(s.Title+" "+s.Description), name)
		}
		set[name] = given
	}
	return set, nil
}

type server struct {
	Type    string `json:"type"`
	Command launch `json:"mcp_config"`
}

type launch struct {
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Overrides map[string]launch `json:"platform_overrides"`
}

// with is a command with what another says instead.
func (l launch) with(other launch) launch {
	if other.Command != "" {
		l.Command = other.Command
	}
	if other.Args != nil {
		l.Args = other.Args
	}
	l.Env = maps.Clone(l.Env)
	if l.Env == nil {
		l.Env = map[string]string{}
	}
	maps.Copy(l.Env, other.Env)
	return l
}

// platform is this system as manifests call it.
func platform() string {
	if runtime.GOOS == "windows" {
		return "win32"
	}
	return runtime.GOOS
}

// A Setting is something that the user sets.
type Setting struct {
	Type        string          `json:"type"` // string, number, boolean, directory or file
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Default     json.RawMessage `json:"default"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
	Min         *float64        `json:"min"`
	Max         *float64        `json:"max"`
}

// defaults is what holds if the user sets nothing; nil for nothing.
func (s Setting) defaults() []string {
	var list []any
	var one any
	if len(s.Default) == 0 || string(s.Default) == "null" {
		return nil
	}
	if json.Unmarshal(s.Default, &list) != nil {
		if json.Unmarshal(s.Default, &one) != nil {
			return nil
		}
		list = []any{one}
	}
	texts := []string{}
	for _, v := range list {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// variable is how an entry refers to the environment.
var variable = lazyregexp.New(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// check says what is wrong with values.
func (s Setting) check(name string, values []string) error {
	if len(values) > 1 && !s.Multiple {
		return fmt.Errorf("the setting %s accepts only one value", name)
	}
	for i, v := range values {
		if variable.MatchString(v) {
			continue
		}
		if s.Sensitive {
			return fmt.Errorf("the setting %s is a secret: put it in an environment variable and give --config '%s=${NAME}'", name, name)
		}
		switch s.Type {
		case "number":
			n, err := strconv.ParseFloat(v, 64)
			if err != nil || s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max {
				return fmt.Errorf("the setting %s cannot be %q: it must be a number%s", name, v, s.bounds())
			}
		case "boolean":
			if v != "true" && v != "false" {
				return fmt.Errorf("the setting %s cannot be %q: it must be true or false", name, v)
			}
		case "directory", "file":
			whole, err := filepath.Abs(v)
			if err != nil {
				return err
			}
			if _, err := os.Stat(whole); err != nil {
				return fmt.Errorf("the setting %s: %w", name, err)
			}
			values[i] = whole
		}
	}
	return nil
}

// bounds are the smallest and the largest number, in words.
func (s Setting) bounds() string {
	switch {
	case s.Min != nil && s.Max != nil:
		return fmt.Sprintf(" from %v to %v", *s.Min, *s.Max)
	case s.Min != nil:
		return fmt.Sprintf(" of at least %v", *s.Min)
	case s.Max != nil:
		return fmt.Sprintf(" of at most %v", *s.Max)
	}
	return ""
}

// Open reads the manifest of a bundle.
func Open(file string) (*Bundle, error) {
	z, err := zip.OpenReader(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the bundle %s: %w", file, err)
	}
	b := &Bundle{zip: z}
	if err := b.readManifest(); err != nil {
		z.Close()
		return nil, fmt.Errorf("cannot read the bundle %s: %w", file, err)
	}
	return b, nil
}

// Close closes the file.
func (b *Bundle) Close() error { return b.zip.Close() }

func (b *Bundle) readManifest() error {
	f, err := b.zip.Open("manifest.json")
	if err != nil {
		return errors.New("it has no manifest.json")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return err
	}
	if len(raw) > maxManifest {
		return fmt.Errorf("its manifest is larger than %d MiB", maxManifest>>20)
	}
	if err := json.Unmarshal(raw, &b.Manifest); err != nil {
		return fmt.Errorf("its manifest: %w", err)
	}
	if b.Manifest.Name == "" || b.Manifest.Server.Command.Command == "" {
		return errors.New("its manifest has no name, or no server.mcp_config.command")
	}
	return nil
}

// Unpack puts the files into dir, which must not exist. Nothing is left of a bundle that
// cannot be unpacked.
func (b *Bundle) Unpack(dir string) (err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	root, err := os.OpenRoot(dir) // which no name can lead out of
	if err != nil {
		return err
	}
	defer root.Close()
	if len(b.zip.File) > maxFiles {
		return fmt.Errorf("cannot unpack the bundle: it has more than %d files", maxFiles)
	}
	room := int64(maxBytes)
	for _, f := range b.zip.File {
		n, err := extract(root, f, room)
		if err != nil {
			return fmt.Errorf("could not unpack %q from the bundle: %w", f.Name, err)
		}
		room -= n
	}
	return nil
}

// Entry is the entry of the bundle's server when it is unpacked in dir, with what the
// user has set. A secret is set as the name of a variable, because entries may be shared
// and arguments can be seen by everybody.
func (b *Bundle) Entry(dir string, values map[string][]string) (mcp.Server, error) {
	m := &b.Manifest
	if here := platform(); len(m.Compatible.Platforms) > 0 && !slices.Contains(m.Compatible.Platforms, here) {
		return mcp.Server{}, fmt.Errorf("the bundle %s is for %s, but this is %s", m.Name, strings.Join(m.Compatible.Platforms, ", "), here)
	}
	set, err := m.settings(values)
	if err != nil {
		return mcp.Server{}, err
	}
	l := m.Server.Command
	if other, ok := l.Overrides[platform()]; ok {
		l = l.with(other)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return mcp.Server{}, err
	}
	known := map[string]string{
		"__dirname": dir, "HOME": home, "/": string(filepath.Separator), "pathSeparator": string(filepath.Separator),
		"DESKTOP": filepath.Join(home, "Desktop"), "DOCUMENTS": filepath.Join(home, "Documents"), "DOWNLOADS": filepath.Join(home, "Downloads"),
	}
	f := &filler{known: known, set: set}
	for name, texts := range set {
		if values[name] == nil { // what the bundle itself says may have ${HOME}
			for i := range texts {
				texts[i] = f.one(texts[i])
			}
		}
	}
	s := mcp.Server{Type: mcp.Stdio, Command: f.one(l.Command)}
	for _, arg := range l.Args {
		s.Args = append(s.Args, f.several(arg)...)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env[name] = f.one(l.Env[name])
	}
	if !filepath.IsAbs(s.Command) && strings.ContainsAny(s.Command, `/\`) {
		s.Command = filepath.Join(dir, s.Command)
	}
	return s, errors.Join(f.problems...)
}

var errTooLarge = fmt.Errorf("the bundle is larger than %d MiB", maxBytes>>20)

// extract writes one file and returns its size, which is at most room.
func extract(root *os.Root, f *zip.File, room int64) (int64, error) {
	name := strings.TrimSuffix(f.Name, "/")
	if name == "" || path.IsAbs(name) || strings.ContainsAny(name, "\\:\x00") || path.Clean(name) != name || slices.Contains(strings.Split(name, "/"), "..") {
		return 0, errors.New("the name leads out of the bundle or contains unusual characters")
	}
	mode := f.Mode()
	switch {
	case mode.IsDir():
		return 0, root.MkdirAll(name, 0o700)
	case !mode.IsRegular():
		return 0, errors.New("it is neither a file nor a folder")
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|mode.Perm()&0o100)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, room+1))
	if n > room {
		err = errTooLarge
	}
	return n, errors.Join(err, out.Close())
}
