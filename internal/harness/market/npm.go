package market

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/sys/ownprogram"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/shellrun"
)

// An npmPackage is what npm fetches from the registry that the user has set up.
type npmPackage struct {
	Package string `json:"package"`
	Version string `json:"version"` // or a range or tag; "" means the latest
}

var (
	packageName    = lazyregexp.New(`^(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$`)
	packageVersion = lazyregexp.New(`^[A-Za-z0-9.^~<>=*+ -]*$`)
)

// check refuses names that make npm do anything but fetch from its registry.
func (p npmPackage) check() error {
	if !packageName.MatchString(p.Package) || strings.HasPrefix(p.Package, "-") {
		return fmt.Errorf("%q is not the name of an npm package", p.Package)
	}
	if !packageVersion.MatchString(p.Version) {
		return fmt.Errorf("%q is not a version of an npm package", p.Version)
	}
	return nil
}

// fetch puts the files of a package into dir, which it makes, and returns the hash that the
// registry gives for them, which npm has compared. Nothing of the package runs.
func (p npmPackage) fetch(ctx context.Context, dir string) (integrity string, err error) {
	if err := p.check(); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	packed, err := os.MkdirTemp(filepath.Dir(dir), ".npm-") // without settings of a project
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(packed)
	ctx, cancel := context.WithTimeoutCause(ctx, cloneTime, fmt.Errorf("it took longer than %v", cloneTime))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go watch(ctx, packed, stop)
	name := p.Package
	if p.Version != "" {
		name += "@" + p.Version
	}
	out, err := npm(ctx, packed, "pack", "--ignore-scripts", "--json", "--", name)
	var files []struct {
		Name      string `json:"filename"`
		Integrity string `json:"integrity"`
	}
	if err == nil {
		if err = json.Unmarshal(out, &files); err == nil && (len(files) != 1 || !filepath.IsLocal(files[0].Name)) {
			err = errors.New("npm did not say what it fetched")
		}
	}
	if err != nil {
		return "", fmt.Errorf("could not fetch the npm package %s: %w", name, err)
	}
	return files[0].Integrity, unpack(filepath.Join(packed, files[0].Name), dir)
}

func npm(ctx context.Context, dir string, args ...string) ([]byte, error) {
	program, err := ownprogram.Find("npm", dir)
	if err != nil {
		return nil, errors.New("npm is not installed")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = shellrun.Inherited(os.Environ(), []string{"npm_config_*", "NPM_CONFIG_*", "NODE_EXTRA_CA_CERTS"})
	cmd.WaitDelay = 2 * time.Second
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && complaint.Len() > 0:
		return nil, errors.New(visible.Indented(strings.TrimSpace(complaint.String())))
	}
	return out.Bytes(), err
}

// unpack puts the files of a package, which are below a folder of any name, into dir. Links
// and special files, which npm leaves out too, are errors.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxBytes)
	for files, r := 0, tar.NewReader(zipped); ; files++ {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/")
		name = path.Clean(name)
		switch {
		case files > maxFiles:
			return fmt.Errorf("it has more than %d files", maxFiles)
		case name == "." || h.Typeflag == tar.TypeDir:
			continue
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%s is neither a file nor a folder", name)
		case h.Size > left:
			return errTooLarge
		}
		left -= h.Size
		if err := writeUnpacked(root, filepath.FromSlash(name), h, r); err != nil {
			return err
		}
	}
}

func writeUnpacked(root *os.Root, name string, h *tar.Header, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|h.FileInfo().Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, r)
	return errors.Join(err, out.Close())
}
