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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
