package trust_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/guard/trust"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
)

func TestMain(m *testing.M) {
	// Under strace the test starts itself to load a hostile project.
	if dir := os.Getenv("LOAD_PROJECT"); dir != "" {
		p := &machine{dir: dir}
		_, held, err := p.folder().Filter(p.load())
		fmt.Println(len(held), err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A machine has a home, a project and a store.
type machine struct {
	t   *testing.T // nil outside of tests
	dir string
}

func newMachine(t *testing.T) *machine {
	m := &machine{t, t.TempDir()}
	m.write("home/.claude/settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}`)
	m.write("project/.git/HEAD", "")
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m *machine) check(err error) {
	if err == nil {
		return
	}
	if m.t == nil {
		panic(err)
	}
	m.t.Helper()
	m.t.Fatal(err)
}

func (m *machine) write(name, text string) {
	m.check(os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	m.check(os.WriteFile(m.path(name), []byte(text), 0o644))
}

func (m *machine) load() *settings.Settings { return m.loadFrom("project") }

func (m *machine) loadFrom(project string) *settings.Settings {
	s, err := settings.Load(&settings.Options{Home: m.path("home"), Project: m.path(project), Managed: []string{}})
	m.check(err)
	return s
}

func (m *machine) store() *trust.Store { return trust.NewStore(m.path("home/.config/haft/trust.json")) }

func (m *machine) folder() *trust.Folder { return m.folderOf("project") }

func (m *machine) folderOf(project string) *trust.Folder {
	f, err := m.store().Folder(m.path(project))
	m.check(err)
	return f
}

// counts returns what the project's files say, with short paths.
func (m *machine) counts(s *settings.Settings) string {
	var b strings.Builder
	for _, f := range s.Files() {
		if f.Source.InProject() {
			all, _ := f.Value()
			fmt.Fprintf(&b, "%s %s\n", f.Path, all.JSON)
		}
	}
	return m.short(b.String())
}

func (m *machine) short(s string) string {
	real, _ := filepath.EvalSymlinks(m.dir)
	return strings.NewReplacer(m.path("project"), "P", m.path("home"), "~", real, "DIR").Replace(s)
}

func (m *machine) held(held []trust.Held) string {
	var b strings.Builder
	for _, h := range held {
		fmt.Fprintln(&b, h)
		for _, file := range h.Files {
			fmt.Fprintln(&b, "\tbound to", file)
		}
	}
	return m.short(b.String())
}

func eachFixture(t *testing.T, test func(*testing.T, *machine, golden.Archive)) {
	golden.EachArchive(t, "testdata/malicious/*.txtar", func(t *testing.T, a golden.Archive) {
		m := newMachine(t)
		for _, f := range a.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				m.write("project/"+f.Name, string(f.Data))
			}
		}
		test(t, m, a)
	})
}

// grantAll is a user who agrees to everything the settings hold now.
func grantAll(ctx context.Context, f *trust.Folder, s *settings.Settings) error {
	return f.Grant(ctx, f.Items(s)...)
}

func TestMaliciousRepositories(t *testing.T) {
	eachFixture(t, func(t *testing.T, m *machine, a golden.Archive) {
		s, f := m.load(), m.folder()
		before, held, err := f.Filter(s)
		if err != nil {
			t.Fatal(err)
		}
		a.Check(t, "want/held", m.held(held))
		a.Check(t, "want/counts", m.counts(before))
		if diff := cmp.Diff(m.counts(trust.Without(s)), m.counts(before)); diff != "" {
			t.Errorf("without any trust (-want +got):\n%s", diff)
		}
		if hooks := before.Hooks(); len(hooks) != 1 || hooks[0].Command != "mine" {
			t.Errorf("the person's own hooks are %v", hooks)
		}

		if err := grantAll(t.Context(), f, s); err != nil {
			t.Fatal(err)
		}
		after, held, err := f.Filter(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range held {
			if h.Never == "" {
				t.Errorf("not trusted after all was: %v", h)
			}
		}
		a.Check(t, "want/counts-when-trusted", m.counts(after))
	})
}

func TestNothingRunsOrConnectsBeforeTrust(t *testing.T) {
	needtest.Need(t, needtest.Tracing)
	eachFixture(t, func(t *testing.T, m *machine, a golden.Archive) {
		cmd := exec.Command("strace", "-f", "-qq", "-e", "trace=execve,execveat,connect,sendto", "-o", m.path("trace"), os.Args[0])
		cmd.Dir = m.path("project")
		cmd.Env = append(os.Environ(), "LOAD_PROJECT="+m.dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		trace, err := os.ReadFile(m.path("trace"))
		if err != nil {
			t.Fatal(err)
		}
		calls := regexp.MustCompile(`(?m)^\d+ +(execve|execveat|connect|sendto)\(.*`).FindAllString(string(trace), -1)
		if len(calls) != 1 || !strings.Contains(calls[0], "execve(") {
			t.Errorf("loading did more than start itself:\n%s", strings.Join(calls, "\n"))
		}
		if _, err := os.Stat(m.path("project/pwned")); err == nil {
			t.Error("the marker exists")
		}
	})
}
