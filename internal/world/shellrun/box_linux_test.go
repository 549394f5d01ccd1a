package shellrun

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// runBoxed runs a command in a shell, confined.
func runBoxed(t testing.TB, s *Shell, box *sandbox.Spec, command string) *Task {
	t.Helper()
	task, err := s.Run(t.Context(), Request{Command: command, Timeout: 30 * time.Second, Box: box})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestACommandThatReadsCannotWrite(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		project := t.TempDir()
		writeFiles(t, project, map[string]string{"file": "text\n"})
		s := newTestHost(t, nil).NewShell(project)
		box := &sandbox.Spec{Read: []string{project}, KeepSignals: true}
		task := runBoxed(t, s, box, `cat file; for f in file new /etc/haft-test /haft-test; do (: >>$f) 2>/dev/null && echo wrote $f; done; echo note >/tmp/haft-test-note; id -u`)
		if got, want := text(task), "text\n"+strconv.Itoa(os.Geteuid())+"\n"; got != want {
			t.Errorf("output %q, want %q", got, want)
		}
		if got := text(runBoxed(t, s, box, "cat /tmp/haft-test-note")); got != "note\n" {
			t.Errorf("the private /tmp is not that of the command before: %q", got)
		}
		if _, err := os.Stat("/tmp/haft-test-note"); err == nil {
			t.Error("/tmp is not private")
		}
		if got := task.Result().Status.Tier; got != sandbox.TierBox {
			t.Errorf("tier %s", got)
		}
	})
}

// TestAThinBoxHoldsFilesOnly: what the Spec names is held, by every name and against every
// program, and all else is as outside.
func TestAThinBoxHoldsFilesOnly(t *testing.T) {
	needtest.Need(t, needtest.Namespaces)
	asBoth(t, func(t *testing.T) {
		project := t.TempDir()
		writeFiles(t, project, map[string]string{"sub/secrets/key": "canary\n", "fixed/f": "text\n", "a": "a\n"})
		host := newTestHost(t, nil)
		s := host.NewShell(project)
		in := func(name string) string { return filepath.Join(project, name) }
		box := (&sandbox.Spec{Thin: true}).Holding([]string{in("sub/secrets")}, []string{in("fixed")}, []string{in("sub")})
		note := filepath.Join(os.TempDir(), "haft-thin-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(os.Geteuid()))
		defer os.Remove(note)
		task := runBoxed(t, s, box, `exec 2>/dev/null
cat sub/secrets/key; cat /proc/self/cwd/sub/secrets/key; ln sub/secrets/key l && cat l; mv sub moved; mv sub/secrets s; chmod -R u+rwx s; cat s/key; cat /proc/$PPID/cwd/sub/secrets/key
ln -s fixed k; echo x >k/f; ln fixed/f h && echo x >h; mv fixed old; rm -rf fixed; chmod 700 fixed; umount fixed; umount sub/secrets; echo new >fixed/new
echo new >made; mv a sub/b; echo note >`+note+`; kill -0 `+strconv.Itoa(os.Getpid())+` && echo seen; cat sub/secrets/key`)
		if got := text(task); got != "seen\n" {
			t.Errorf("output %q", got)
		}
		got := tree(t, project)
		if got["sub/secrets/key"] != "canary\n" || got["fixed/f"] != "text\n" || got["fixed/new"] != "" || got["made"] != "new\n" || got["sub/b"] != "a\n" || got["h"] != "" {
			t.Errorf("the project has %v", got)
		}
		if _, err := os.Stat(note); err != nil {
			t.Error("/tmp is not that of the machine")
		}
	})
}

func TestACommandOfTheProjectWritesThereOnly(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		project, other := t.TempDir(), t.TempDir()
		s := newTestHost(t, nil).NewShell(project)
		task := runBoxed(t, s, &sandbox.Spec{Write: []string{project}, Read: []string{other}}, "echo 1 >made; (echo 2 >"+other+"/made) 2>/dev/null || echo refused; mkdir sub; cd sub")
		if got := text(task); got != "refused\n" || s.Dir() != filepath.Join(project, "sub") {
			t.Errorf("output %q, then in %s", got, s.Dir())
		}
		if got := tree(t, project); got["made"] != "1\n" || len(tree(t, other)) != 0 {
			t.Errorf("the project has %v, the other folder %v", got, tree(t, other))
		}
	})
}

// Programs that keep caches and locks work where nothing can be written, with
// the same output.
func TestOrdinaryProgramsOnlyRead(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	project := t.TempDir()
	writeFiles(t, project, map[string]string{"go.mod": "module example.com/x\n\ngo 1.24\n", "x.go": "package x\n", "x.py": "x = 1\n", "package.json": `{"name":"x","version":"1.0.0"}`})
	h := newTestHost(t, nil)
	s := h.NewShell(project)
	run(t, s, "git init -q . && git add . && git -c user.name=x -c user.email=x@example.com commit -qm first && touch -d 2001-01-01 x.go")
	box := &sandbox.Spec{Read: []string{project}, Scratch: sandbox.Resolve(home), KeepSignals: true}
	before := tree(t, project)
	for program, command := range map[string]string{
		"git":     "git status && git log --oneline | wc -l && git diff --stat",
		"go":      "go list ./... && go vet ./... && go env GOMOD",
		"python3": "python3 -c 'import x; print(x.x)'",
		"npm":     "npm ls",
		"rg":      "rg package",
	} {
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		// First without a box: go vet builds a program that a new machine does not have.
		unconfined := run(t, s, "cp -r . ../copy-"+program+" && cd ../copy-"+program+" && "+command)
		if err := s.Move(project); err != nil {
			t.Fatal(err)
		}
		confined := runBoxed(t, s, box, command)
		plain := text(confined)
		if got := tree(t, project); !equalTrees(got, before) {
			t.Errorf("%s has changed the project", program)
		}
		want := strings.ReplaceAll(text(unconfined), filepath.Join(filepath.Dir(project), "copy-"+program), project)
		if plain != want || confined.Result().Status.Code != unconfined.Result().Status.Code {
			t.Errorf("%s wrote\n%s\nand otherwise\n%s", program, plain, want)
		}
	}
}
