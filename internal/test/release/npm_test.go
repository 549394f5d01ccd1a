//go:build unix

package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
)

// npm packs what a release would publish, installs it without a network, and the launcher
// runs the program with its arguments, streams and exit code.
func TestNPMPackages(t *testing.T) {
	needtest.Peers(t)
	for _, program := range []string{"node", "npm", "npx", "tar", "zip", "unzip"} {
		needtest.Program(t, program)
	}
	platform, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		t.Skipf("there is no package for %s", runtime.GOARCH)
	}
	dist, out, user := t.TempDir(), filepath.Join(t.TempDir(), "packages"), t.TempDir()
	archives(t, dist, haft(t))
	in(t, root, "node", "npm/fill.mjs", "1.2.3", dist, out)

	own := "haft-" + runtime.GOOS + "-" + platform
	in(t, user, "npm", "pack", "--silent", filepath.Join(out, "haft"), filepath.Join(out, own))
	if err := os.WriteFile(filepath.Join(user, "package.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	// --omit=optional, because a registry has the packages of the other platforms and there is none here.
	in(t, user, "npm", "install", "--offline", "--no-audit", "--no-fund", "--omit=optional", "./haftdev-haft-1.2.3.tgz", "./haftdev-"+own+"-1.2.3.tgz")
	if got := in(t, user, "npx", "--offline", "haft", "version"); !strings.HasPrefix(got, "haft version ") {
		t.Errorf("npx haft version: %q", got)
	}

	launcher := filepath.Join(user, "node_modules/.bin/haft")
	bad := exec.Command(launcher, "no-such-command")
	text, _ := bad.CombinedOutput()
	if bad.ProcessState.ExitCode() != 2 || !strings.Contains(string(text), `unknown command "no-such-command"`) {
		t.Errorf("the exit code of the program is not that of the launcher: %d\n%s", bad.ProcessState.ExitCode(), text)
	}
	if err := os.RemoveAll(filepath.Join(user, "node_modules/@haftdev", own)); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(launcher, "version").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "the package @haftdev/"+own+" is not installed. Install it with") {
		t.Errorf("without the package of the platform: %v\n%s", err, text)
	}
}

func TestNPMPackagesNeedTheRelease(t *testing.T) {
	needtest.Peers(t)
	for _, program := range []string{"node", "tar", "zip"} {
		needtest.Program(t, program)
	}
	for name, c := range map[string]struct {
		spoil func(archive string) error
		want  string
	}{
		"an archive that is missing":  {os.Remove, "is missing"},
		"an archive that was changed": {func(file string) error { return os.WriteFile(file, []byte("other"), 0o644) }, "does not match checksums.txt"},
	} {
		dist, out := t.TempDir(), filepath.Join(t.TempDir(), "packages")
		program := filepath.Join(t.TempDir(), "haft")
		if err := os.WriteFile(program, []byte("a program"), 0o755); err != nil {
			t.Fatal(err)
		}
		archives(t, dist, program)
		if err := c.spoil(filepath.Join(dist, "haft_1.2.3_windows_arm64.zip")); err != nil {
			t.Fatal(err)
		}
		fill := exec.Command("node", "npm/fill.mjs", "1.2.3", dist, out)
		fill.Dir = root
		text, err := fill.CombinedOutput()
		if err == nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: packages were made", name)
		}
	}
}

// archives makes those of a release as the configuration names them. The one for this
// system has the program, the others a few bytes.
func archives(t *testing.T, dist, program string) {
	t.Helper()
	c, dir, sums := readConfig(t), t.TempDir(), ""
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put("haft.exe", []byte("a program"))
	a := c.Archives[0]
	for _, system := range c.Builds[0].Goos {
		for _, arch := range c.Builds[0].Goarch {
			name := strings.NewReplacer("{{ .ProjectName }}", c.ProjectName, "{{ .Version }}", "1.2.3", "{{ .Os }}", system, "{{ .Arch }}", arch).Replace(a.Name)
			if system == a.Overrides[0].Goos {
				name += "." + a.Overrides[0].Formats[0]
				in(t, dir, "zip", "-q1", filepath.Join(dist, name), "haft.exe")
			} else {
				name += "." + a.Formats[0]
				put("haft", []byte("a program"))
				if system == runtime.GOOS && arch == runtime.GOARCH {
					put("haft", data)
				}
				in(t, dir, "tar", "-czf", filepath.Join(dist, name), "haft")
			}
			packed, err := os.ReadFile(filepath.Join(dist, name))
			if err != nil {
				t.Fatal(err)
			}
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(packed), name)
		}
	}
	if err := os.WriteFile(filepath.Join(dist, c.Checksum.Name), []byte(sums), 0o644); err != nil {
		t.Fatal(err)
	}
}

// in runs a program in a folder, with a home of its own for npm, and returns what it prints.
func in(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(t.TempDir(), "npm"), "npm_config_update_notifier=false")
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
