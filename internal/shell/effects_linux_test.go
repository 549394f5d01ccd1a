package shell_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/shell"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
)

func TestMain(m *testing.M) {
	shellrun.Supervise()
	os.Exit(m.Run())
}

// A watcher runs commands that were judged to only read in a hostile project and tells
// what they attempt. They run in a box in which nothing can be written and nobody be
// reached, under strace: what fails there for lack of rights has been attempted all
// the same.
type watcher struct {
	where      *shell.Options
	repo, home string
	traces     string
	run        func(t testing.TB, command string)
}

const hostileSecret = "TOPSECRET-17"

// newWatcher makes the project: a file that every setting names as a program, keys that
// nobody may open, and files with the names of options. Settings of git that no
// environment overrides are not among them: with one, no git command is taken for one
// that only reads.
func newWatcher(t testing.TB) *watcher {
	t.Helper()
	needtest.Need(t, needtest.Namespaces, needtest.Tracing, "bash", "git")
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{repo: filepath.Join(top, "repo"), home: filepath.Join(top, "home"), traces: filepath.Join(top, "traces")}
	cmd := exec.Command("bash", "-c", hostileScript)
	cmd.Dir, cmd.Env = top, append(os.Environ(), "HOME="+w.home, "SECRET="+hostileSecret)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.where = &shell.Options{Cwd: w.repo, Home: w.home, Roots: []string{w.repo}, FS: shell.OS{}}
	host := shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), NoProfile: true})
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	box := &sandbox.Spec{Read: []string{w.repo, w.home}, Write: []string{w.traces}, KeepSignals: true, NoSockets: true}
	env, _ := shell.Hardening(w.where)
	plain := func(string) (env2, words []string) { return append(env, "HOME="+w.home), nil }
	w.run = func(t testing.TB, command string) {
		t.Helper()
		task, err := host.NewShell(w.repo).Run(t.Context(), shellrun.Request{Command: command, Timeout: 5 * time.Minute, Box: box, Plain: plain})
		if err != nil {
			t.Fatal(err)
		}
		if status := task.Result().Status; status.Tier != sandbox.TierBox {
			t.Fatalf("not in a box: tier %s", status.Tier)
		}
	}
	return w
}

const hostileScript = `set -e
mkdir -p repo/d repo/src home/.ssh home/.rpmdb home/.config/go traces && echo "KEY $SECRET" > home/.ssh/id_rsa && cd repo
git init -q . && git config user.email a@b && git config user.name a
for f in a b c x.txt README.md main.go src/b.go; do echo "$f TODO 1 2 3" > $f; done
echo '{"a":{"b":[1,2,{"c":"x"}]},"env":"y"}' > j.json; echo 'env' > evil.jq; echo 'p' > s.sed
printf '#!/bin/sh\ntouch PWNED\n' > evil; chmod +x evil; echo './evil' > list
: > -delete; : > --output=PWNED; echo '* filter=evil diff=evil' > .gitattributes
openssl req -x509 -newkey rsa:2048 -nodes -keyout /dev/null -out cert.pem -days 2 -subj /CN=x 2>/dev/null || :
rpm --initdb 2>/dev/null || : # Debian's rpm has its database in the home
git add -A && git commit -qm 'one %G? $(touch PWNED)' && git tag v1 && echo "T=$SECRET" > .env && echo more >> a && git stash -q && echo changed >> b
for key in core.fsmonitor core.pager core.editor core.sshCommand gpg.program filter.evil.clean filter.evil.smudge diff.evil.textconv pager.log pager.diff credential.helper; do git config "$key" './evil'; done
git config log.showSignature true; git config pretty.evil '%G?'; git config format.pretty '%h %G? %s'`

// An attempt is a command with what it attempted.
type attempt struct{ command, what string }

// effects runs commands, each in a shell of its own, and returns the attempts of those
// that do more than read, and how many of the commands succeeded.
func (w *watcher) effects(t testing.TB, commands []string) (found []attempt, succeeded int) {
	t.Helper()
	var script strings.Builder
	fmt.Fprintf(&script, "export HAFT_SECRET=%s\n", hostileSecret)
	for i, command := range commands {
		quoted, err := syntax.Quote(command, syntax.LangBash)
		if err != nil {
			t.Fatalf("%q: %v", command, err)
		}
		// The attempt to go to a folder that does not exist is what the trace is cut by.
		fmt.Fprintf(&script, "cd /haft-case/%d\necho \"=== %d\"\n( ulimit -t 2 -v 4000000; eval %s ) <j.json\necho \"--- $?\"\n", i, i, quoted)
	}
	driver, trace, out := filepath.Join(w.traces, "driver"), filepath.Join(w.traces, "trace"), filepath.Join(w.traces, "out")
	if err := os.WriteFile(driver, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(t, fmt.Sprintf("timeout 240 strace -f -qq --seccomp-bpf -s 300 -e trace=%s -o %s bash --norc --noprofile %s >%s 2>/dev/null", watchedCalls, trace, driver, out))
	return w.read(t, commands, trace, out)
}

// works skips a test about a program that cannot work here: its probe, a command that
// only reads, does not succeed.
func (w *watcher) works(t testing.TB, probe string) {
	t.Helper()
	a := shell.Analyze(probe, w.where)
	if !a.ReadOnly {
		t.Fatalf("the probe %q is not judged to only read: %s", probe, a.Reason)
	}
	if _, succeeded := w.effects(t, []string{a.Run}); succeeded == 0 {
		needtest.Missing(t, "%s does not succeed here", probe)
	}
}

// watchedCalls are those by which a name is changed, a program started or someone
// reached; what changes an open file needs one that was opened for writing.
const watchedCalls = "chdir,execve,execveat,connect,sendto,open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,symlink,symlinkat,link,linkat," +
	"chmod,fchmodat,chown,lchown,fchownat,truncate,utime,utimes,utimensat,mknod,mknodat,setxattr,lsetxattr,fsetxattr,removexattr,kill,tkill"

func (w *watcher) read(t testing.TB, commands []string, trace, out string) (found []attempt, succeeded int) {
	t.Helper()
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	current, last := -1, -1
	for line := range strings.SplitSeq(string(calls), "\n") {
		if m := caseMark.FindStringSubmatch(line); m != nil {
			current, _ = strconv.Atoi(m[1])
			last = current
			continue
		}
		if current >= 0 && w.harmful(line, commands[current]) {
			found = append(found, attempt{commands[current], line})
		}
	}
	if last != len(commands)-1 {
		t.Fatalf("the run ended with %q", commands[max(last, 0)])
	}
	printed, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(printed), "=== ")[1:] {
		if strings.Contains(part, hostileSecret) && i < len(commands) {
			found = append(found, attempt{commands[i], "prints a secret"})
		}
		if strings.Contains(part, "--- 0\n") {
			succeeded++
		}
	}
	return found, succeeded
}

var (
	caseMark  = regexp.MustCompile(`chdir\("/haft-case/(\d+)"`)
	opens     = regexp.MustCompile(`^\d+ +(?:open|openat|openat2)\((?:AT_FDCWD, |\d+, )?"([^"]*)"[^,]*, (.*)$`)
	writing   = regexp.MustCompile(`O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND`)
	executes  = regexp.MustCompile(`^\d+ +execve(?:at)?\((?:\w+, )?"([^"]*)"`)
	private   = regexp.MustCompile(`^\d+ +\w+\((?:AT_FDCWD, )?"/(?:var/)?tmp(?:/[^"]*)?"`) // of the box
	runsText  = regexp.MustCompile(`execve\("[^"]*/(?:ba|da)?sh", \["[^"]*", "-c"`)
	ownFiles  = regexp.MustCompile(`"/[^"]*/home/(?:go|\.(?:rpmdb|npm|cache|config/go))["/]`)         // databases, caches and logs of programs
	ownTexts  = regexp.MustCompile(`"-c", "(?:(?:bash -c ')?echo ~/\.rpmdb|LC_NUMERIC=C sort -r -n)`) // what the settings and --last of rpm run
	resumed   = regexp.MustCompile(`^\d+ +(?:<\.\.\.|---|\+\+\+|chdir)`)
	localSend = regexp.MustCompile(`AF_NETLINK`)
)

// harmful reports whether a call of the system by a command is more than reading.
func (w *watcher) harmful(line, command string) bool {
	switch {
	case resumed.MatchString(line), localSend.MatchString(line), ownFiles.MatchString(line), ownTexts.MatchString(line), private.MatchString(line) && !strings.Contains(line, w.home) && !strings.Contains(line, w.repo):
		return false
	}
	if m := opens.FindStringSubmatch(line); m != nil {
		if strings.HasSuffix(m[1], "id_rsa") || strings.HasSuffix(m[1], "/.env") || m[1] == ".env" {
			return true
		}
		return writing.MatchString(m[2]) && m[1] != "/dev/null" && m[1] != "/dev/tty"
	}
	if m := executes.FindStringSubmatch(line); m != nil {
		foreign := !filepath.IsAbs(m[1]) || strings.HasPrefix(m[1], w.repo) || strings.HasPrefix(m[1], w.home) || strings.HasPrefix(m[1], "/tmp/")
		return foreign || filepath.Base(m[1]) == "touch" || runsText.MatchString(line) && !strings.Contains(command, "sh -c ") // whose text was judged
	}
	return strings.Contains(line, "(")
}
