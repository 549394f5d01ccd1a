package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/mcp/bundle"
	"github.com/haftdev/haft/internal/regular"
	"github.com/haftdev/haft/mcp/config"
)

// isBundle reports whether an argument is the file of a bundle.
func isBundle(arg string) bool {
	ext := strings.ToLower(filepath.Ext(arg))
	return (ext == ".mcpb" || ext == ".dxt") && !strings.Contains(arg, "://")
}

// addBundle sets up the server of a bundle, unpacked to a folder named after its content,
// so that the same bundle is unpacked only once.
func (f *addFlags) addBundle(ctx context.Context, file string, name []string) error {
	b, err := bundle.Open(file)
	if err != nil {
		return err
	}
	defer b.Close()
	values, err := f.values()
	if err != nil {
		return err
	}
	dir, err := bundleDir(file)
	if err != nil {
		return err
	}
	s, err := b.Entry(dir, values)
	if err != nil {
		return usageError{err}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	entry := config.Entry{Name: bundleName(b.Manifest.Name), Raw: raw}
	if len(name) > 0 {
		entry.Name = name[0]
	}
	if _, err := os.Stat(dir); err != nil {
		if err := b.Unpack(dir); err != nil {
			return err
		}
	}
	return f.keep(ctx, []config.Entry{entry})
}

// values are what the user has set by --config.
func (f *addFlags) values() (map[string][]string, error) {
	values := map[string][]string{}
	for _, pair := range f.config {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usageError{fmt.Errorf("--config %s: write NAME=VALUE", pair)}
		}
		values[key] = append(values[key], value)
	}
	return values, nil
}

// bundleDir is where a bundle is unpacked: in the user's configuration folder, by its
// content.
func bundleDir(file string) (string, error) {
	in, err := regular.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return "", err
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "haft", "mcp-bundles", hex.EncodeToString(sum.Sum(nil)[:12])), nil
}

// bundleName makes a manifest's name one that a server may have.
func bundleName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}
