package market

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// A plugin comes from the registry of the user's npm, as a marketplace.json at an address says;
// nothing of it runs, and what is not as the registry says is refused.
func TestAPluginFromNPM(t *testing.T) {
	needtest.Program(t, "npm")
	ran := filepath.Join(t.TempDir(), "ran")
	packed := pack(t, map[string]string{
		"package/package.json":               `{"name": "@tin/boats", "version": "1.2.0", "scripts": {"preinstall": "touch ` + ran + `", "prepack": "touch ` + ran + `"}}`,
		"package/.claude-plugin/plugin.json": `{"name": "boats", "version": "1.2.0"}`,
		"package/commands/fold.md":           "Fold a boat.",
	})
	sum := sha512.Sum512(packed)
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	var base string // of the registry
	var claimed atomic.Pointer[string]
	claimed.Store(&integrity)
	mux := http.NewServeMux()
	mux.HandleFunc("/@tin%2fboats", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name": "@tin/boats", "dist-tags": {"latest": "1.2.0"}, "versions": {"1.2.0": {"name": "@tin/boats", "version": "1.2.0", "dist": {"tarball": "%s/boats.tgz", "integrity": "%s"}}}}`, base, *claimed.Load())
	})
	mux.HandleFunc("/boats.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(packed) })
	mux.HandleFunc("/market.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"name": "tin", "plugins": [
			{"name": "boats", "source": {"source": "npm", "package": "@tin/boats", "version": "^1.0.0"}},
			{"name": "none", "source": {"source": "npm", "package": "@tin/none"}},
			{"name": "near", "source": "./near"}]}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	base = server.URL
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("npm_config_registry", base)
	t.Setenv("npm_config_update_notifier", "false")
	t.Setenv("npm_config_fetch_retries", "0")
	store, err := Open(home)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := store.Add(t.Context(), base+"/market.json"); err != nil || m.Name != "tin" || m.Source != base+"/market.json" || len(m.Plugins) != 3 {
		t.Fatalf("Add = %+v, %v", m, err)
	}
	plan, err := store.Prepare(t.Context(), "boats@tin")
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Install(); err != nil || plan.Version != "1.2.0" || plan.Commit != integrity {
		t.Errorf("Install = %v, version %q, %q", err, plan.Version, plan.Commit)
	}
	plan.Close()
	if text, err := os.ReadFile(filepath.Join(home, ".haft", "plugins", "boats", "commands", "fold.md")); string(text) != "Fold a boat." {
		t.Errorf("the command is %q, %v", text, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a script of the package ran")
	}
	if found, err := store.Check(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("Check = %v, %v", found, err)
	}
	for id, want := range map[string]string{"none@tin": "could not fetch the npm package @tin/none", "near@tin": "its folder"} {
		if p, err := store.Prepare(t.Context(), id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v; want %s", id, p, err, want)
		}
	}
	other := "sha512-" + base64.StdEncoding.EncodeToString(make([]byte, 64))
	claimed.Store(&other)
	t.Setenv("npm_config_cache", t.TempDir())
	if p, err := store.Prepare(t.Context(), "boats@tin"); err == nil || !strings.Contains(err.Error(), "EINTEGRITY") {
		t.Errorf("with another hash: %v, %v", p, err)
	}
}

// An archive cannot write outside of its folder, and has no links.
func TestUnpackRefuses(t *testing.T) {
	for _, name := range []string{"package/../../out", "package/link -> /etc"} {
		dir := t.TempDir()
		archive := filepath.Join(dir, "a.tgz")
		if err := os.WriteFile(archive, pack(t, map[string]string{name: "x"}), 0o600); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, "sub", "to")
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		err := unpack(archive, to)
		if entries, _ := os.ReadDir(to); len(entries) > 0 || err == nil {
			t.Errorf("%s: %v, %v", name, err, entries)
		}
		if _, out := os.Stat(filepath.Join(dir, "out")); out == nil {
			t.Errorf("%s was written outside", name)
		}
	}
}

func TestOnlySafePlacesOfACatalog(t *testing.T) {
	for address, want := range map[string]string{
		"http://example.com/market.json": "only https addresses", "https://me:word@example.com/market.json": "contains a password",
	} {
		if err := fetchCatalog(t.Context(), address, t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	for address, want := range map[string]bool{"https://example.com/a.json": true, "https://example.com/a.git": false, "ssh://x/a.json": false, "a.json": false} {
		if isCatalog(address) != want {
			t.Errorf("isCatalog(%q) = %v", address, !want)
		}
	}
	for name, ok := range map[string]bool{"a": true, "@a/b": true, "-a": false, "../a": false, "a/b": false, "": false, "A b": false} {
		if err := (npmPackage{Package: name}).check(); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := (npmPackage{Package: "a", Version: "file:../x"}).check(); err == nil {
		t.Error("a version that is a file is accepted")
	}
}

// pack makes the archive of a package; "NAME -> TARGET" is a link.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if link, target, ok := strings.Cut(name, " -> "); ok {
			h.Name, h.Linkname, h.Typeflag, h.Size, text = link, target, tar.TypeSymlink, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
