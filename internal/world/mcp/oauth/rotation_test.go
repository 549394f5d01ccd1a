package oauth_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/world/mcp/oauth"
)

const (
	processes = 8
	refreshes = 50
)

func TestMain(m *testing.M) {
	if args := os.Getenv("HAFT_TEST_REFRESH"); args != "" {
		words := strings.Fields(args)
		if err := refreshOften(words[0], words[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// refreshOften is one of the processes.
func refreshOften(server, dir string) error {
	c, err := oauth.New(oauth.Remote{Name: "fake", URL: server}, oauth.NewStore(dir), &oauth.Options{Now: hasty})
	if err != nil {
		return err
	}
	for i := range refreshes {
		if err := post(context.Background(), c, server); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	return nil
}

// hasty is a clock that all processes share, and on which a token is too old by
// the next look at it, whoever got it: a millisecond takes ten seconds.
func hasty() time.Time {
	now := time.Now()
	start := now.Truncate(24 * time.Hour)
	return start.Add(10_000 * now.Sub(start))
}

// TestManyProcessesKeepOneLogin has processes refresh the same login against an
// authorization server that takes a token used twice for stolen.
func TestManyProcessesKeepOneLogin(t *testing.T) {
	f, dir := newFakeServer(t), t.TempDir()
	f.set(func(s *fakeState) { s.lifetime = 1 })
	logIn(t, newClient(t, f, dir, nil))
	var running []*exec.Cmd
	for range processes {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "HAFT_TEST_REFRESH="+f.endpoint()+" "+dir)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process: %v", err)
		}
	}
	got := f.state()
	t.Logf("%d refreshes, %d requests let in", got.refreshes, got.authorized)
	if got.stolen != 0 {
		t.Errorf("a spent refresh token was used %d times", got.stolen)
	}
	if got.authorized != processes*refreshes {
		t.Errorf("%d requests were let in, want %d", got.authorized, processes*refreshes)
	}
	if got.refreshes < processes*refreshes {
		t.Errorf("only %d refreshes: the test shows nothing", got.refreshes)
	}
	if err := post(t.Context(), newClient(t, f, dir, nil), f.endpoint()); err != nil {
		t.Errorf("the login is lost: %v", err)
	}
}
