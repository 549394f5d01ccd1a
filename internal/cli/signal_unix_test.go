//go:build unix

package cli_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestASignalEndsACallAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("sign", 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan time.Time, 1)
	go func() {
		sign, err := os.OpenFile("sign", os.O_WRONLY, 0) // waits for the command that reads it
		if err != nil {
			t.Error(err)
			cancel()
			return
		}
		defer sign.Close()
		ended <- time.Now()
		cancel()
		<-t.Context().Done()
	}()
	code, out, errs := run(ctx, "tools", "call", "Bash", `{"command":"cat sign"}`)
	select {
	case at := <-ended:
		if took := time.Since(at); code != 130 || !strings.Contains(out, "Cancelled while it ran") || took > 10*time.Second {
			t.Errorf("code %d after %s: %s%s", code, took, out, errs)
		}
	default:
		t.Fatalf("the command did not run: code %d, %s%s", code, out, errs)
	}
}
