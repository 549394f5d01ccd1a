//go:build linux

package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/haftdev/haft/fleet/internal/engine"
)

// TestAnUpgradeLosesNothing replaces workers and the server by those of another version, and
// back, while runs are led: both versions work side by side, every turn under way is finished
// or handed over, and no call is cut. The other version is the program itself as it is
// released, the one that HAFT_FLEET_OLD names, or with HAFT_NIGHTLY=1 the oldest commit that
// keeps things in the same layout.
func TestAnUpgradeLosesNothing(t *testing.T) {
	t.Parallel()
	other := otherVersion(t)
	f := prepareFleet(t)
	f.serveFlags = []string{"--accept-previous"}
	f.startServer()
	f.connect()
	own := f.programs(other)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	prompts, ended := map[string][]string{}, 0
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			for ctx.Err() == nil {
				id, names, err := f.begin(t.Context(), turnsOfARun)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				prompts[id] = names
				mu.Unlock()
				f.mustEnd(t, id, names)
				mu.Lock()
				ended++
				mu.Unlock()
			}
		})
	}
	progress := func(what string, runs int) {
		mu.Lock()
		was := ended
		mu.Unlock()
		waitFor(t, what, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return ended >= was+runs
		})
	}
	workers := []*exec.Cmd{own.other(), own.other(), own.other()}
	for _, roll := range []struct {
		what  string
		start func() *exec.Cmd
	}{{"forward", own.this}, {"back", own.other}} {
		progress("runs before the roll "+roll.what, 4)
		for i, w := range workers {
			workers[i] = roll.start()
			if err := w.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := w.Wait(); err != nil {
				t.Errorf("a worker ends with %v", err)
			}
			progress("runs with both versions", 2)
			if i == 1 { // the server in the middle
				own.swapServer(f)
			}
		}
	}
	progress("runs after the rolls", 4)
	stop()
	users.Wait()
	for _, w := range workers {
		kill(w)
	}
	var sum tally
	told := map[string]string{}
	for id, names := range prompts {
		f.check(id, names, &sum, told)
	}
	f.checkEffects(&sum, told)
	t.Logf("%d runs of %d turns; %d calls, %d of them unknown, %d effects", len(prompts), turnsOfARun, sum.calls, sum.unknown, sum.effects)
	if sum.unknown != 0 || sum.never != 0 || sum.calls != turnsOfARun*len(prompts) {
		t.Errorf("calls were cut or made again: %+v of %d runs", sum, len(prompts))
	}
}

// Programs start workers and servers of two versions.
type programs struct {
	this, other func() *exec.Cmd
	path        string
	served      bool // the server is of the other version
}

func (f *fleet) programs(path string) *programs {
	args := []string{"worker", "--join", f.url, "--key", f.key("worker"), "--slots", "4", "--dir", filepath.Join(f.dir, "sessions")}
	return &programs{path: path, this: func() *exec.Cmd { return f.start(args...) }, other: func() *exec.Cmd { return f.startProgram(path, mainVariable+"=1", args...) }}
}

// swapServer ends the server and starts one of the other version in its store.
func (p *programs) swapServer(f *fleet) {
	n := f.servers[0]
	_ = n.cmd.Process.Signal(syscall.SIGTERM)
	_ = n.cmd.Wait()
	if p.served = !p.served; p.served {
		args := n.args
		if help, err := exec.Command(p.path, "serve", "--help").CombinedOutput(); err == nil && !bytes.Contains(help, []byte("--accept-previous")) {
			args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "--accept-previous" })
		}
		n.cmd = f.startProgram(p.path, n.env, args...)
	} else {
		n.start()
	}
}

// otherVersion returns a program that is not this one.
func otherVersion(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("HAFT_FLEET_OLD"); path != "" {
		return path
	}
	dir, tree := t.TempDir(), "../.."
	if os.Getenv("HAFT_NIGHTLY") != "" {
		out, err := exec.Command("git", "log", "--format=%H", "-S", `ayout = "`+engine.Layout+`"`, "--", "../engine/setup.go").Output()
		commits := strings.Fields(string(out))
		if err != nil || len(commits) == 0 {
			t.Skipf("there is no history here: %v", err)
		}
		tree = filepath.Join(dir, "old")
		archive, err := exec.Command("git", "-C", "../../..", "archive", commits[len(commits)-1]).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(tree, 0o700); err != nil {
			t.Fatal(err)
		}
		unpack := exec.Command("tar", "-x", "-C", tree)
		unpack.Stdin = bytes.NewReader(archive)
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		tree = filepath.Join(tree, "fleet")
		t.Logf("the other version is commit %s", commits[len(commits)-1])
	}
	path := filepath.Join(dir, "haft-fleet")
	build := exec.Command("go", "build", "-o", path, "./cmd/haft-fleet")
	build.Dir = tree
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the other version: %v\n%s", err, out)
	}
	return path
}

// What a newer version writes into a run outlives an older one that changes the run.
func TestAnOlderVersionKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id, prompts := f.submit(1)
	kv, err := f.conn.Bucket(t.Context(), engine.Runs(engine.ShardOf(id)))
	if err != nil {
		t.Fatal(err)
	}
	read := func() map[string]json.RawMessage {
		v, err := kv.Get(t.Context(), "default."+id)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(v.Value(), &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	fields := read()
	fields["from_the_future"] = json.RawMessage(`{"deep":[1,2]}`)
	raw, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Put(t.Context(), "default."+id, raw); err != nil {
		t.Fatal(err)
	}
	w := f.startWorker()
	t.Cleanup(func() { kill(w) })
	f.mustEnd(t, id, prompts)
	waitFor(t, "the run to rest", func() bool { return string(read()["state"]) == `"idle"` })
	if got := string(read()["from_the_future"]); got != `{"deep":[1,2]}` {
		t.Errorf("a worker that does not know it left %q of it", got)
	}
}
