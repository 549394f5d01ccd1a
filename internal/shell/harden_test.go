package shell

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/needtest"
)

// hostile is a .git/config in which everything that git could run leaves a
// marker. MARK is replaced by a command.
const hostile = `[core]
	fsmonitor = MARK
	pager = MARK
	editor = MARK
	sshCommand = MARK
	hooksPath = hooks
	alternateRefsCommand = MARK
	askPass = MARK
[diff "evil"]
	textconv = MARK
[filter "evil"]
	clean = MARK
	smudge = MARK
	required = true
[filter "proc"]
	process = MARK
[gpg]
	program = MARK
[gpg "ssh"]
	program = MARK
[log]
	showSignature = true
[status]
	submoduleSummary = true
[pager]
	log = MARK
	status = MARK
	branch = MARK
[alias]
	st = !MARK
	log = !MARK
[tar "tar.gz"]
	command = MARK
[interactive]
	diffFilter = MARK
[include]
	path = more.cfg
[credential]
	helper = MARK
`

const hostileInclude = "[diff \"included\"]\n\ttextconv = MARK\n[filter \"included\"]\n\tclean = MARK\n"

// hostileProject makes a repository that tries to run a script and returns it
// with the file that the script makes.
func hostileProject(t testing.TB) (dir, marker string) {
	t.Helper()
	for _, tool := range []string{"git", "bash"} {
		needtest.Program(t, tool)
	}
	dir = t.TempDir()
	marker = filepath.Join(t.TempDir(), "marker")
	script := filepath.Join(t.TempDir(), "mark.sh")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> "+marker+"\ncat 2>/dev/null\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"main.go": "package main\n\n// TODO\nfunc main() {}\n", "go.mod": "module example.com/x\n\ngo 1.20\n", "README.md": "# Title\n\nTODO text\n", "docs/guide.md": "guide\n", "src/app/main.js": "x\n",
		"src/app/index.ts": "x\n", "a.txt": "a\nb\n", "b.txt": "b\nc\n", "list.txt": "1 x\n2 y\n", "data.csv": "a,b,3\nc,d,9\n", "data.json": `[{"id":1},{"id":2}]`, "package.json": `{"name":"x","version":"1.0.0"}`,
		"server.log": "INFO one took 3\nERROR two\n", "web/assets/logo.bin": "\x00\x01binary text here", "internal/util/util.go": "package util\n", "scripts/build.sh": "curl http\n",
	}
	for name, text := range files {
		write(name, text)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-qm", "first")
	run("tag", "v1.0.0")
	run("branch", "feature/x")
	write(".gitattributes", "*.md diff=evil filter=evil\n*.txt diff=included filter=included\n*.go filter=proc\n")
	write("README.md", "# Title\n\nTODO changed\n")
	write("a.txt", "a\nchanged\n")
	write(".npmrc", "registry=http://127.0.0.1:9/${HOME}\nscript-shell="+script+"\nnode-options=--require "+script+"\n")
	for _, hook := range []string{"post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"} {
		write(".git/hooks/"+hook, "#!/bin/sh\necho hook "+hook+" >> "+marker+"\n")
		write("hooks/"+hook, "#!/bin/sh\necho hook "+hook+" >> "+marker+"\n")
	}
	write(".git/config", "[core]\n\trepositoryformatversion = 0\n"+strings.ReplaceAll(hostile, "MARK", script))
	write(".git/more.cfg", strings.ReplaceAll(hostileInclude, "MARK", script))
	return dir, marker
}

func projectOptions(dir string) *Options {
	return &Options{Cwd: dir, Home: dir, Roots: []string{dir}, FS: OS{}}
}

func hardened(t testing.TB, dir string) []string {
	t.Helper()
	env, _ := Hardening(projectOptions(dir))
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GOCACHE=" + t.TempDir(), "GOPATH=" + t.TempDir()}, env...)
}

func runBash(ctx context.Context, dir, script string, env []string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTheHostileProjectIsHostile(t *testing.T) {
	dir, marker := hostileProject(t)
	runBash(t.Context(), dir, "git status; git diff; git log -1", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir})
	if _, err := os.Stat(marker); err != nil {
		t.Error("git without hardening ran nothing: the other tests show nothing")
	}
}

func TestHardenedGitStillAnswers(t *testing.T) {
	dir, _ := hostileProject(t)
	env := hardened(t, dir)
	for command, want := range map[string]string{
		"git diff README.md":                  "+TODO changed",
		"git diff a.txt":                      "+changed",
		"git status -s":                       " M README.md",
		"git log --oneline":                   "first",
		"git show HEAD:a.txt":                 "a\nb",
		"git archive HEAD | grep -ao main.go": "main.go",
		"git grep -n TODO":                    "main.go:3",
	} {
		out, err := runBash(t.Context(), dir, command, env)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s\nwant %q in it", command, err, out, want)
		}
	}
}

func TestReadOnlyCommandsLeaveNoMarkerInAHostileProject(t *testing.T) {
	dir, marker := hostileProject(t)
	env := hardened(t, dir)
	before := snapshot(t, dir)
	opts := projectOptions(dir)
	ran := 0
	for i, l := range corpus(t) {
		heeds := strings.HasPrefix(l.Class, "git") || strings.HasPrefix(l.Class, "npm") || strings.HasPrefix(l.Class, "go")
		if !l.ReadOnly || !nightly() && !heeds && i%8 != 0 || strings.Contains(l.Cmd, "dmesg") || strings.Contains(l.Cmd, "sleep") {
			continue
		}
		a := Analyze(l.Cmd, opts)
		if !a.ReadOnly {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		runBash(ctx, dir, a.Run, env)
		cancel()
		ran++
		if text, err := os.ReadFile(marker); err == nil {
			t.Errorf("%s: ran as %q and left a marker:\n%s", l.Cmd, a.Run, text)
			os.Remove(marker)
		}
	}
	if ran < 40 {
		t.Errorf("only %d commands ran", ran)
	}
	if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
		t.Errorf("read-only commands changed the project (-before +after):\n%s", diff)
	}
}

// snapshot returns the content of every file below dir.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if rel, _ := filepath.Rel(dir, name); !strings.HasPrefix(rel, ".npm/") && !strings.HasPrefix(rel, ".config/go") && !strings.HasPrefix(rel, ".cache/") {
			out[rel] = string(bytes.ToValidUTF8(data, []byte("?")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHardeningNamesWhatItCannotTurnOff(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".git/config", "[diff \"x\"]\n\tcommand = ./x\n[filter \"y\"]\n\tclean = ./y\n[core]\n\tworktree = /\n[includeIf \"onbranch:z\"]\n\tpath = z.cfg\n[user]\n\tname = n\n")
	write(".git/z.cfg", "[diff \"z\"]\n\ttextconv = ./z\nbroken line\n")
	sub := filepath.Join(dir, "deep", "er")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	env, settings := Hardening(&Options{Cwd: sub, FS: OS{}})
	config, z := filepath.Join(dir, ".git/config"), filepath.Join(dir, ".git/z.cfg")
	want := []GitSetting{
		{config, "diff.x.command", "./x", false},
		{config, "filter.y.clean", "./y", true},
		{config, "core.worktree", "/", false},
		{z, "", "", false},
		{z, "diff.z.textconv", "./z", true},
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
	for _, name := range []string{"filter.y.clean", "diff.z.textconv"} {
		if !strings.Contains(strings.Join(env, "\n"), "="+name+"\n") {
			t.Errorf("%s is not overridden", name)
		}
	}
}

func TestAnEmptyRepositoryDoesNotHideTheOneAbove(t *testing.T) {
	dir, marker := hostileProject(t)
	sub := filepath.Join(dir, "docs")
	for _, name := range []string{".git", ".git/objects"} {
		if err := os.Mkdir(filepath.Join(sub, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, err := runBash(t.Context(), sub, "git diff ..; git status", hardened(t, sub))
	if err != nil || !strings.Contains(out, "+TODO changed") {
		t.Errorf("git does not find the repository above: %v\n%s", err, out)
	}
	if text, err := os.ReadFile(marker); err == nil {
		t.Errorf("git ran a program of the repository above:\n%s", text)
	}
}

func TestHardeningWithoutAViewIsStillAnEnvironment(t *testing.T) {
	env, settings := Hardening(nil)
	if len(env) == 0 || settings != nil {
		t.Errorf("Hardening(nil) = %d variables and %v", len(env), settings)
	}
}

// With GCONV_PATH in their environment, even empty, programs of glibc read the text of every conversion there is, at twice
// the cost of a short command.
func TestNoVariableMakesEveryCommandSlow(t *testing.T) {
	env, _ := Hardening(projectOptions(t.TempDir()))
	if slices.Contains(env, "GCONV_PATH=") || !slices.Contains(env, "GCONV_PATH") {
		t.Errorf("GCONV_PATH is set rather than taken out: %q", env)
	}
}
