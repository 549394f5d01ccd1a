package harness_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/script"
)

// TestSameOrSaid plays each scenario twice in equal worlds, by bash and by a model whose edits
// are accepted, and compares output, exit codes, files with their modes and times, what git
// knows, and the working directory. What differs must be said; if it is not, that is a lie. As
// root it plays them again as an ordinary user. Without HAFT_THOROUGH it plays one in twelve.
func TestSameOrSaid(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, needtest.Overlay, "git", "perl")
	if os.Geteuid() == 0 {
		defer asNobody(t, "")
	}
	every := needtest.Every(12)
	for i, s := range scenarios {
		if i%every != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			w := newTruthWorld(t)
			plain, through := w.played(s, w.byBash), w.played(s, w.byModel)
			got, first, lies := judgeTruth(plain, through)
			switch {
			case s.known != "" && len(lies) == 0:
				t.Errorf("it is %s now, so that it is no longer a known lie (%s)", got, s.known)
			case s.known != "":
				t.Logf("known (%s): %v", s.known, lies)
			case len(lies) > 0:
				t.Errorf("a lie: %s", strings.Join(lies, "\n"))
			case !strings.Contains(s.want, got) || got != same && !strings.Contains(first, w.filled(s.says)):
				t.Errorf("%s, want %s with %q in the first line: %s\n%+v", got, s.want, w.filled(s.says), first, through.steps)
			case got != same && s.probe != "" && through.probe != s.kept:
				t.Errorf("it is %s, and yet %q is true afterwards, want %q", got, through.probe, s.kept)
			}
		})
	}
}

// How a scenario ends, if nothing is hidden from the model.
const (
	same    = "same"    // every step as in a plain shell
	told    = "told"    // a step was held back, and its first line says so
	refused = "refused" // a step is an error that it is not in a plain shell

	dependsOnMachine = same + " or " + refused // where plain bash gets different answers
)

// A played scenario is what can be seen of it.
type played struct {
	steps []playedStep
	files map[string]string    // by path: mode, content, and the time if it is long ago
	times map[string]time.Time // of the files of the project
	probe string
}

type playedStep struct {
	failed     bool
	text       string
	background bool
}

// judgeTruth compares a scenario that bash has played with one of haft. The first line is that
// of the step that differs.
func judgeTruth(plain, haft *played) (outcome, first string, lies []string) {
	outcome = same
	for i, want := range plain.steps {
		got := haft.steps[i]
		line, _, _ := strings.Cut(strings.TrimSpace(got.text), "\n")
		held := holdsLines(got.text, want.text)
		switch {
		case want.background && !got.failed:
		case got.failed && !(want.failed && held && !strings.HasPrefix(line, "Not applied: ")):
			return refused, line, nil // what follows cannot be the same
		case !got.failed && strings.HasPrefix(line, "Held back: "):
			outcome, first = told, line
		case !held:
			lies = append(lies, fmt.Sprintf("step %d printed %q, plainly %q", i+1, got.text, want.text))
		case want.failed != got.failed:
			lies = append(lies, fmt.Sprintf("that step %d failed is %v, plainly %v: %q", i+1, got.failed, want.failed, got.text))
		case outcome == same:
			first = line
		}
	}
	if outcome == told {
		return outcome, first, lies
	}
	for path := range maps.All(merged(plain.files, haft.files)) {
		if plain.files[path] != haft.files[path] {
			lies = append(lies, fmt.Sprintf("%s is %q, plainly %q", path, haft.files[path], plain.files[path]))
		}
	}
	const clearly = 200 * time.Millisecond
	for a, at := range plain.times {
		for b, bt := range plain.times {
			if at.Sub(bt) > clearly && haft.times[b].Sub(haft.times[a]) > clearly {
				lies = append(lies, fmt.Sprintf("%s is older than %s, plainly newer", a, b))
			}
		}
	}
	if plain.probe != haft.probe {
		lies = append(lies, fmt.Sprintf("outside it is %q, plainly %q", haft.probe, plain.probe))
	}
	return outcome, first, lies
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// holdsLines reports whether a text has lines in their order: haft may say more.
func holdsLines(text, lines string) bool {
	has := strings.Split(text, "\n")
	for line := range strings.Lines(strings.ReplaceAll(lines, "\r", "\n")) {
		line = strings.TrimSpace(line)
		i := slices.IndexFunc(has, func(have string) bool { return strings.Contains(have, line) })
		if i < 0 {
			return false
		}
		has = has[i+1:]
	}
	return true
}

// A truthWorld is where scenarios are played, at the same paths each time.
type truthWorld struct {
	*rig
	home, scratch string
	names         *strings.Replacer // for what differs from one machine to the next
}

func newTruthWorld(t *testing.T) *truthWorld {
	t.Helper()
	w := &truthWorld{rig: newRig(t)}
	w.home = os.Getenv("HOME")
	t.Setenv("XDG_STATE_HOME", filepath.Join(w.home, ".state"))
	for _, name := range []string{"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"} {
		t.Setenv(name, "2026-01-01T00:00:00Z") // so that commits are equal
	}
	f, err := os.CreateTemp("/tmp", "truth")
	if err != nil {
		t.Fatal(err)
	}
	w.scratch = f.Name() + "-" // nothing has a name that begins so
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.sweep)
	foreign, free := w.listen(), w.listen()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	w.names = strings.NewReplacer("{tmp}", w.scratch, "{port}", portOf(foreign), "{free}", portOf(free))
	return w
}

// listen is a service of another program.
func (w *truthWorld) listen() net.Listener {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "hello")
			c.Close()
		}
	}()
	return l
}

func portOf(l net.Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

func (w *truthWorld) filled(text string) string { return w.names.Replace(text) }

// sweep removes everything that was made.
func (w *truthWorld) sweep() {
	left, _ := filepath.Glob(w.scratch + "*")
	for _, dir := range []string{w.dir, w.home} {
		inside, _ := filepath.Glob(dir + "/*")
		hidden, _ := filepath.Glob(dir + "/.*")
		left = append(left, slices.Concat(inside, hidden)...)
	}
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			w.t.Error(err)
		}
	}
}

const truthSetup = `git config --global user.name N; git config --global user.email e@example.com; git config --global init.defaultBranch main
git init -q . && echo hello > a.txt && printf 'one\ntwo\n' > b.txt && mkdir sub && echo s > sub/s.txt && git add -A && git commit -qm first
`

// played plays a scenario in a fresh world, beside a process of another program.
func (w *truthWorld) played(s scenario, play func([]string) []playedStep) *played {
	w.t.Helper()
	w.sweep()
	other := exec.Command("sleep", "4321")
	if err := other.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = other.Wait() }()
	defer func() { _ = other.Process.Kill(); <-ended }()
	number := strconv.Itoa(other.Process.Pid)
	fill := func(text string) string { return w.filled(strings.ReplaceAll(text, "{pid}", number)) }
	if code, out, _ := w.bash(fill(truthSetup+s.setup), w.dir, time.Minute); code != 0 {
		w.t.Fatalf("the setup ends with %d: %s", code, out)
	}
	var steps []string
	for _, step := range append(slices.Clone(s.steps), "pwd") {
		steps = append(steps, fill(step))
	}
	p := &played{steps: play(steps)}
	for i := range p.steps {
		p.steps[i].text = strings.ReplaceAll(p.steps[i].text, number, "{pid}")
	}
	p.files, p.times = w.look()
	_, p.probe, _ = w.bash(fill(cmp.Or(s.probe, "git status --short; git log --all --format='%h %s %d'; git stash list")), w.dir, time.Minute)
	return p
}

// bash runs a command plainly. It returns the working directory in which the command ends.
func (w *truthWorld) bash(command, dir string, limit time.Duration) (code int, output, end string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	where := filepath.Join(w.t.TempDir(), "end")
	cmd := exec.CommandContext(ctx, "bash", "-c", command+"\ncode=$?; pwd > "+where+"; exit $code")
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	_ = cmd.Run() // the exit code says it
	raw, _ := os.ReadFile(where)
	return cmd.ProcessState.ExitCode(), out.String(), cmp.Or(strings.TrimSpace(string(raw)), dir)
}

// A step is a command, or begins with one of these.
const (
	inBackground = "background: "
	byRead       = "read: "
	inASecond    = "within a second: "
)

func (w *truthWorld) byBash(steps []string) (done []playedStep) {
	dir := w.dir
	for _, step := range steps {
		if command, ok := strings.CutPrefix(step, inBackground); ok {
			job := exec.Command("bash", "-c", command)
			job.Dir, job.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
			if err := job.Start(); err != nil {
				w.t.Fatal(err)
			}
			defer func() { _ = syscall.Kill(-job.Process.Pid, syscall.SIGKILL); _ = job.Wait() }()
			done = append(done, playedStep{background: true})
			continue
		}
		limit := time.Minute
		if command, ok := strings.CutPrefix(step, inASecond); ok {
			step, limit = command, time.Second
		}
		if path, ok := strings.CutPrefix(step, byRead); ok {
			step = "cat " + path
		}
		code, out, end := w.bash(step, dir, limit)
		if limit == time.Second { // it did not fail: it was ended here, and goes on with haft, which must say so
			code, out = 0, out+"did not finish within 1s"
		}
		done, dir = append(done, playedStep{failed: code != 0, text: out}), end
	}
	return done
}

func (w *truthWorld) byModel(steps []string) (done []playedStep) {
	var turns []script.Turn
	for _, step := range steps {
		block := call("Bash", in("command", step))
		if command, ok := strings.CutPrefix(step, inBackground); ok {
			block.Input = encoded(w.t, map[string]any{"command": command, "run_in_background": true})
		}
		if command, ok := strings.CutPrefix(step, inASecond); ok {
			block.Input = encoded(w.t, map[string]any{"command": command, "timeout": 1000})
		}
		if path, ok := strings.CutPrefix(step, byRead); ok {
			block = call("Read", in("file_path", path))
		}
		turns = append(turns, script.Turn{Blocks: []script.Block{block}})
	}
	r := w.with(append(turns, says("done"))...)
	c := r.talk(harness.Options{Mode: "acceptEdits", Reexec: shellrun.Supervise()}, harness.TalkOptions{})
	defer c.Close(w.t.Context())
	c.Send(agent.Prompt{Content: []model.Block{model.TextOf("work")}})
	for ev, err := range c.Run(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		if ev, ok := ev.(agent.Returned); ok {
			done = append(done, playedStep{failed: ev.Outcome.IsError(), text: ev.Outcome.Result.Text()})
		}
		if len(done) == len(steps) {
			break // jobs may go on
		}
	}
	if len(done) != len(steps) {
		w.t.Fatalf("%d of %d steps have a result", len(done), len(steps))
	}
	return done
}

// look sees the files of the project, of the home folder and of the scratch.
func (w *truthWorld) look() (files map[string]string, times map[string]time.Time) {
	w.t.Helper()
	files, times = map[string]string{}, map[string]time.Time{}
	scratch, _ := filepath.Glob(w.scratch + "*")
	for _, root := range append(scratch, w.dir, w.home) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == root && d.IsDir() {
				return nil
			}
			if d.IsDir() && slices.Contains([]string{".git", ".haft", ".claude", ".state", ".cache", ".config"}, d.Name()) {
				return fs.SkipDir // git is asked, and the others are haft's own
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			content := ""
			switch {
			case info.Mode().IsRegular():
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				content = string(raw)
				times[path] = info.ModTime()
			case info.Mode()&fs.ModeSymlink != 0:
				content, _ = os.Readlink(path)
			}
			if old := info.ModTime(); time.Since(old) > time.Hour {
				content += old.Format(" 2006-01-02 15:04:05")
			}
			files[path] = info.Mode().String() + " " + content
			return nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return files, times
}
