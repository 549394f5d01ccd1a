package preview_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/session"
)

// applierEnv makes the test program one that previews and applies a command, to be
// killed meanwhile. It holds the project, the session store and the command.
const applierEnv = "HAFT_PREVIEW_APPLIER"

func applierMain(env string) {
	parts := strings.SplitN(env, "\n", 4)
	ctx := context.Background()
	s, err := session.Open(parts[1]).Create(ctx, &session.CreateOptions{Cwd: parts[0]})
	check(err)
	host := shellrun.NewHost(&shellrun.Options{Reexec: reexec, NoProfile: true})
	fmt.Println(s.ID())
	r, err := preview.Run(ctx, preview.Request{Shell: host.NewShell(parts[0]), Dirs: []string{parts[0]}, Store: parts[2],
		Command: shellrun.Request{Command: parts[3], Timeout: time.Minute}})
	check(err)
	fmt.Println("ready")
	check(r.Apply(ctx, s, "call"))
	fmt.Println("done")
	check(s.Close())
	check(r.Drop())
	check(host.Close())
	os.Exit(0)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestKilledWhileApplying kills the process at random while the command runs and
// while its change is applied. Many times:
//
//	HAFT_PREVIEW_KILLS=200 go test ./internal/harness/preview -run Killed
func TestKilledWhileApplying(t *testing.T) {
	newBench(t, nil) // there is a box
	var script strings.Builder
	script.WriteString("rm -r gone; mkdir new; chmod 700 modes; mv a moved; ln -s x link; ")
	for i := range 150 {
		fmt.Fprintf(&script, "echo new%d > file%d; echo %d > new/n%d; ", i, i, i, i)
	}
	script.WriteString("rm file0; mkdir file0; echo 1 > file0/x; rm -r dir; echo now a file > dir; echo more >> linked1")
	counts := map[string]int{}
	for range rounds(t, "HAFT_PREVIEW_KILLS", 8) {
		counts[killOnce(t, script.String())]++
	}
	t.Logf("outcomes: %v", counts)
}

func killOnce(t *testing.T, script string) (outcome string) {
	base := real(t, t.TempDir())
	project, store, state := filepath.Join(base, "p"), filepath.Join(base, "sessions"), filepath.Join(base, "state")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	prepare := "umask 022; mkdir gone modes dir; echo x > gone/x; echo x > dir/x; echo a > a; echo linked > linked1; ln linked1 linked2; for i in {0..149}; do echo old$i > file$i; done"
	bash(t, project, prepare)
	old := tree(t, project)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	bash(t, plain, prepare+"; "+script)
	want := tree(t, plain)
	settle()

	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), applierEnv+"="+strings.Join([]string{project, store, state, script}, "\n"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	id := lines.Text()
	if rand.IntN(5) > 0 { // else while the command runs
		lines.Scan()
	}
	time.Sleep(time.Duration(rand.IntN(500_000)) * time.Microsecond)
	cmd.Process.Kill()
	_ = cmd.Wait()
	return judge(t, project, store, id, old, want)
}

func judge(t *testing.T, project, store, id string, old, want map[string]string) string {
	at := tree(t, project)
	s, err := session.Open(store).Resume(t.Context(), id, nil)
	if err == nil {
		defer s.Close()
		if _, err := checkpoint.New(project, s, nil).Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := tree(t, project)
	switch {
	case maps.Equal(got, old):
		return "old"
	case maps.Equal(at, want):
		return "new"
	case maps.Equal(got, want):
		return "finished after the kill"
	}
	t.Errorf("neither old nor new. Against the new one: %s", cmp.Diff(want, got))
	return "neither"
}
