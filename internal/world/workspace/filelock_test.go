//go:build linux

package workspace

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAFileThatIsNotGivenBackIsBusy(t *testing.T) {
	b := newBench(t, map[string]string{"a": lines})
	b.read("a")
	other := turns{dir: b.turns.dir, fs: b.turns.fs} // another process, as far as locks go
	release, err := other.take(t.Context(), "path", b.path("a"))
	must(t, err)
	synctest.Test(t, func(t *testing.T) {
		_, err := b.edit("a", "one", "two")
		wantCode(t, err, Busy)
	})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var no *Refusal
	if _, err := b.Refresh(cancelled, "", b.Look(b.path("a"))); !errors.Is(err, context.Canceled) || errors.As(err, &no) {
		t.Errorf("a call that was cancelled: %v", err)
	}
	release()
	if _, err := b.edit("a", "one", "two"); err != nil {
		t.Error(err)
	}
}
