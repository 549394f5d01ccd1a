//go:build unix

package haft_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
)

func TestCommandLineGoesOnWithASession(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		opts := cli.options(t, scripted(t, []script.Block{say("First.")}, []script.Block{say("Second.")}))
		first, err := haft.Ask(t.Context(), "one", opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Resume = first.SessionID
		second, err := haft.Ask(t.Context(), "two", opts)
		if err != nil || second.Result != "Second." || second.SessionID != first.SessionID {
			t.Errorf("resumed: %+v, %v", second, err)
		}
		between, err := haft.NewClient(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer between.Close()
		answered := func() (got string) {
			for m, err := range between.Turn("again") {
				if err != nil {
					return got + err.Error()
				}
				if r, ok := m.(*haft.Result); ok {
					got = r.Result + strings.Join(r.Errors, "")
				}
			}
			return got
		}
		if got := answered(); got != "Done." {
			t.Errorf("a client: %s", got)
		}
		meanwhile, err := haft.Ask(t.Context(), "meanwhile", opts) // the client rests
		if err != nil || meanwhile.Result != "Done." || meanwhile.SessionID != first.SessionID {
			t.Errorf("beside a client: %+v, %v", meanwhile, err)
		}
		// The official program writes a second branch; haft says who has continued.
		if got := answered(); got != "Done." && !strings.Contains(got, "another process has continued the session") {
			t.Errorf("the client afterwards: %s", got)
		}
		opts.Fork = true
		fork, err := haft.Ask(t.Context(), "three", opts)
		if err != nil || fork.SessionID == first.SessionID {
			t.Errorf("forked: %+v, %v", fork, err)
		}
		opts.Resume, opts.Fork = "00000000-0000-4000-8000-000000000000", false
		if _, err := haft.Ask(t.Context(), "four", opts); !errors.Is(err, haft.ErrNoSession) {
			t.Errorf("a session that does not exist: %v", err)
		}
	})
}

func TestCommandLineReportsFailures(t *testing.T) {
	eachCommandLine(t, func(t *testing.T, cli commandLine) {
		looks := []script.Block{use("", "Bash", object{"command": "echo again"})}
		opts := cli.options(t, scripted(t, looks, looks, looks))
		opts.MaxTurns, opts.Mode = 2, haft.BypassPermissions
		bad := (*haft.ResultError)(nil)
		if _, err := haft.Ask(t.Context(), "for ever", opts); !errors.As(err, &bad) || bad.Result.Subtype != wire.ResultMaxTurns {
			t.Errorf("too many turns: %v", err)
		}

		refusing, err := scripttest.Serve(t, &script.Options{Answer: func(*script.Request) script.Turn {
			return script.Turn{Fault: script.Fault{Status: 401, Type: "authentication_error", Message: "invalid x-api-key"}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer refusing.Close()
		if _, err := haft.Ask(t.Context(), "hi", cli.options(t, refusing)); !errors.As(err, &bad) || bad.Result.Subtype != wire.ResultSuccess {
			t.Errorf("a key that is refused: %v", err)
		}
	})
}

func TestCommandLineLeavesNothingWhenItIsAborted(t *testing.T) {
	ways := map[string]func(*haft.Client, context.CancelFunc){
		"its context ends": func(_ *haft.Client, cancel context.CancelFunc) { cancel() },
		"it is closed":     func(c *haft.Client, _ context.CancelFunc) { c.Close() },
	}
	for name, abort := range ways {
		t.Run(name, func(t *testing.T) {
			eachCommandLine(t, func(t *testing.T, cli commandLine) {
				marker := filepath.Join(t.TempDir(), "marker")
				opts := cli.options(t, scripted(t, []script.Block{use("toolu_1", "Bash", object{"command": "echo $$ >" + marker + "; exec tail -f /dev/null"})}))
				opts.Mode = haft.BypassPermissions
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c, err := haft.NewClient(ctx, opts)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := c.Send("wait"); err != nil {
					t.Fatal(err)
				}
				eventually(t, "the command runs", func() bool { return running(marker) })
				begin := time.Now()
				abort(c, cancel)
				for range c.Messages() {
				}
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				c.Close()
				eventually(t, "the command is gone", func() bool { return !running(marker) })
			})
		})
	}
}

// running reports whether the process lives that has written its number to a file.
func running(marker string) bool {
	text, err := os.ReadFile(marker)
	if err != nil {
		return false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return err == nil && syscall.Kill(pid, 0) == nil
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
