package release

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
)

const root = "../../.."

// config is all that .goreleaser.yaml uses. A key that is not here is an error, because
// a key that GoReleaser does not know is one that does nothing.
type config struct {
	Version     int    `yaml:"version"`
	ProjectName string `yaml:"project_name"`
	Before      struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds    []build                      `yaml:"builds"`
	Archives  []archive                    `yaml:"archives"`
	Nfpms     []nfpm                       `yaml:"nfpms"`
	Checksum  checksum                     `yaml:"checksum"`
	Sboms     []struct{ Artifacts string } `yaml:"sboms"`
	Changelog struct{ Disable bool }       `yaml:"changelog"`
	Release   struct {
		Draft      bool   `yaml:"draft"`
		Prerelease string `yaml:"prerelease"`
	} `yaml:"release"`
	Snapshot struct {
		Version string `yaml:"version_template"`
	} `yaml:"snapshot"`
}

type checksum struct {
	Algorithm string `yaml:"algorithm"`
	Name      string `yaml:"name_template"`
}

type build struct {
	Main      string   `yaml:"main"`
	Env       []string `yaml:"env"`
	Goos      []string `yaml:"goos"`
	Goarch    []string `yaml:"goarch"`
	Flags     []string `yaml:"flags"`
	Ldflags   []string `yaml:"ldflags"`
	Timestamp string   `yaml:"mod_timestamp"`
}

type archive struct {
	Name      string   `yaml:"name_template"`
	Formats   []string `yaml:"formats"`
	Overrides []struct {
		Goos    string   `yaml:"goos"`
		Formats []string `yaml:"formats"`
	} `yaml:"format_overrides"`
	Files []any `yaml:"files"` // a path, or a map with src
}

type nfpm struct {
	Package     string   `yaml:"package_name"`
	File        string   `yaml:"file_name_template"`
	Formats     []string `yaml:"formats"`
	Maintainer  string   `yaml:"maintainer"`
	Homepage    string   `yaml:"homepage"`
	Description string   `yaml:"description"`
	License     string   `yaml:"license"`
	Section     string   `yaml:"section"`
	Recommends  []string `yaml:"recommends"`
	Bindir      string   `yaml:"bindir"`
	Contents    []struct {
		Src  string `yaml:"src"`
		Dst  string `yaml:"dst"`
		Type string `yaml:"type"`
	} `yaml:"contents"`
}

func readConfig(t *testing.T) config {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var c config
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		t.Fatalf("read .goreleaser.yaml: %v", err)
	}
	if len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.Nfpms) != 1 || len(c.Sboms) != 1 {
		t.Fatalf("want one build, archive, package and SBOM each: %+v", c)
	}
	return c
}

func TestWhatIsReleased(t *testing.T) {
	c := readConfig(t)
	b, a := c.Builds[0], c.Archives[0]
	got := []any{c.Version, b.Main, b.Env, b.Goos, b.Goarch, b.Flags, a.Name, a.Formats, a.Overrides[0].Goos, a.Overrides[0].Formats,
		c.Nfpms[0].Formats, c.Checksum.Algorithm, c.Checksum.Name, c.Sboms[0].Artifacts, c.Before.Hooks}
	want := []any{2, "./cmd/haft", []string{"CGO_ENABLED=0"}, []string{"linux", "darwin", "windows"}, []string{"amd64", "arm64"}, []string{"-trimpath", "-buildvcs=true"},
		"{{ .ProjectName }}_{{ .Version }}_{{ .Os }}_{{ .Arch }}", []string{"tar.gz"}, "windows", []string{"zip"},
		[]string{"deb"}, "sha256", "checksums.txt", "archive", []string{".ci/release-files release"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOneOwner: the module, the npm packages and the .deb are of the same owner.
func TestOneOwner(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, owner, _ := strings.Cut(strings.Fields(read("go.mod"))[1], "/")
	owner, _, _ = strings.Cut(owner, "/")
	if n := readConfig(t).Nfpms[0]; !strings.HasSuffix(n.Maintainer, "<"+owner+"@users.noreply.github.com>") || n.Homepage != "https://github.com/"+owner+"/haft" {
		t.Errorf("the .deb is of %s, %s", n.Maintainer, n.Homepage)
	}
	scoped := regexp.MustCompile(`@([a-z]+)/haft\b`)
	for _, name := range []string{"npm/package.json", "npm/fill.mjs", "npm/haft.js", "npm/README.md", "docs/dev/release.md"} {
		found := scoped.FindAllStringSubmatch(read(name), -1)
		for _, m := range found {
			if m[1] != owner {
				t.Errorf("%s: %s is not of %s", name, m[0], owner)
			}
		}
		if len(found) == 0 && name != "npm/fill.mjs" {
			t.Errorf("%s names no package", name)
		}
	}
}

// TestTheMatrixIsCompiledInCI holds that every file of ours in a released program is compiled
// or type-checked by .ci/run for one of its systems, which are fewer: the rest differ in a file at most.
func TestTheMatrixIsCompiledInCI(t *testing.T) {
	if !needtest.Thorough() {
		t.Skip("a step of .ci/run does this: set HAFT_THOROUGH=1")
	}
	ci, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`\b(linux|darwin|windows)/(amd64|arm64)\b`).FindAllString(string(ci), -1)
	compiled, systems := map[string]bool{}, map[string]bool{}
	for _, target := range append(targets, "linux/amd64") {
		for _, file := range ownFiles(t, target) {
			compiled[file] = true
		}
		systems[path.Dir(target)] = true
	}
	b := readConfig(t).Builds[0]
	for _, system := range b.Goos {
		if !systems[system] {
			t.Errorf("%s: .ci/run does not build for it", system)
		}
		for _, arch := range b.Goarch {
			for _, file := range ownFiles(t, system+"/"+arch) {
				if !compiled[file] {
					t.Errorf("%s/%s: %s is compiled for none of %q", system, arch, file, targets)
				}
			}
		}
	}
}

// ownFiles are the files of ours that the program is made of on a system.
func ownFiles(t *testing.T, target string) []string {
	t.Helper()
	system, arch, _ := strings.Cut(target, "/")
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{range $.GoFiles}}{{$.ImportPath}}/{{.}}\n{{end}}{{end}}{{end}}", "./cmd/haft")
	list.Dir = root
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	out, err := list.Output()
	if err != nil || !strings.Contains(string(out), "main.go") {
		t.Fatalf("list the files for %s: %v\n%s", target, err, out)
	}
	return strings.Fields(string(out))
}
