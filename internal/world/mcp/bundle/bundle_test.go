package bundle_test

import (
	"archive/zip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/bundle"
)

const manifest = `{"manifest_version": "0.3", "name": "tracker", "version": "1.0.0", "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
	"command": "node", "args": ["${__dirname}/server/index.js", "--limit=${user_config.limit}", "${user_config.dirs}"],
	"env": {"TOKEN": "${user_config.token}", "FROM": "${HOME}"}}},
	"user_config": {
		"token": {"type": "string", "title": "API token", "sensitive": true, "required": true},
		"limit": {"type": "number", "default": 5, "min": 1, "max": 10},
		"dirs": {"type": "directory", "multiple": true, "default": ["${HOME}/notes"]}}}`

type file struct {
	name, text string
	mode       fs.FileMode
}

func pack(t *testing.T, files ...file) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.mcpb")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := zip.NewWriter(out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(f.mode | 0o755)
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestABundleBecomesAnEntry(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	b := open(t, pack(t, file{"manifest.json", manifest, 0}, file{"server/index.js", "serve()", 0}))
	dir := filepath.Join(t.TempDir(), "deep", "unpacked")
	got, err := b.Entry(dir, map[string][]string{"token": {"${TRACKER_TOKEN}"}, "dirs": {home, dir[:len(dir)-len("/deep/unpacked")]}})
	if err != nil {
		t.Fatal(err)
	}
	want := mcp.Server{
		Type: mcp.Stdio, Command: "node", Args: []string{dir + "/server/index.js", "--limit=5", home, filepath.Dir(filepath.Dir(dir))},
		Env: map[string]string{"TOKEN": "${TRACKER_TOKEN}", "FROM": home},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := b.Entry(dir, map[string][]string{"token": {"${T}"}}); err != nil || got.Args[2] != home+"/notes" {
		t.Errorf("the default: %v, %v", got.Args, err)
	}
	if err := b.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "server", "index.js")); err != nil || string(text) != "serve()" {
		t.Errorf("%q, %v", text, err)
	}
	for name, values := range map[string]map[string][]string{
		"needs the setting token":   {},
		"is a secret":               {"token": {"s3cret"}},
		"has no setting \"colour\"": {"token": {"${T}"}, "colour": {"red"}},
		"a number from 1 to 10":     {"token": {"${T}"}, "limit": {"11"}},
		"accepts only one value":    {"token": {"${T}"}, "limit": {"1", "2"}},
	} {
		if _, err := b.Entry(dir, values); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v, want %q", values, err, name)
		}
	}
}

func TestABundleCannotWriteElsewhere(t *testing.T) {
	for name, bad := range map[string]file{
		"a name that climbs":    {"../evil", "x", 0},
		"one that climbs later": {"a/../../evil", "x", 0},
		"an absolute name":      {"/tmp/evil", "x", 0},
		"a name of windows":     {`..\evil`, "x", 0},
		"a drive":               {"c:/evil", "x", 0},
		"a link":                {"link", "/etc/passwd", fs.ModeSymlink},
		"a name twice":          {"manifest.json", "x", 0},
		"a dot":                 {"./evil", "x", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, pack(t, file{"manifest.json", manifest, 0}, bad))
			parent := t.TempDir()
			dir := filepath.Join(parent, "unpacked")
			if err := b.Unpack(dir); err == nil {
				t.Error("it was unpacked")
			}
			left, err := os.ReadDir(parent)
			if err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	for name, files := range map[string][]file{
		"no manifest":  {{"a", "x", 0}},
		"not JSON":     {{"manifest.json", "x", 0}},
		"not a server": {{"manifest.json", `{"name":"x"}`, 0}},
		"too long":     {{"manifest.json", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, 0}},
	} {
		if b, err := bundle.Open(pack(t, files...)); err == nil {
			t.Errorf("%s: %+v", name, b.Manifest)
		}
	}
}
