package session_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
)

func TestPruneDeletesWhatIsAskedForAndBlobsThatNobodyNeeds(t *testing.T) {
	store, cwd := session.Open(t.TempDir()), t.TempDir()
	long := func(c string) string { return strings.Repeat(c, 100_000) }
	keep := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd})
	sessiontest.Add(t, keep, sessiontest.Prompt(long("a")), sessiontest.Answer("m", model.TextOf(long("b"))))
	drop := sessiontest.Create(t, store, &session.CreateOptions{Cwd: cwd})
	sessiontest.Add(t, drop, sessiontest.Prompt(long("a")), sessiontest.Answer("m", model.TextOf(long("c"))))
	sessiontest.Close(t, drop)
	blobs := filepath.Join(filepath.Dir(keep.Path()), "haft-blobs")
	age(t, blobs)

	if _, err := store.Prune(t.Context(), &session.PruneOptions{IDs: []string{keep.ID()}}); err == nil {
		t.Error("a session that is in use was deleted")
	}
	got, err := store.Prune(t.Context(), &session.PruneOptions{IDs: []string{drop.ID()}, DryRun: true})
	if err != nil || len(got.Sessions) != 1 || len(got.Skipped) != 1 {
		t.Fatalf("pruned %+v, %v", got, err)
	}
	sessiontest.Close(t, keep)
	if got, err = store.Prune(t.Context(), nil); err != nil || len(got.Sessions)+got.Blobs != 0 {
		t.Fatalf("pruned by default %+v, %v", got, err)
	}
	if got, err = store.Prune(t.Context(), &session.PruneOptions{Older: time.Hour}); err != nil || len(got.Sessions) != 0 {
		t.Fatalf("pruned what is young: %+v, %v", got, err)
	}
	if got, err = store.Prune(t.Context(), &session.PruneOptions{IDs: []string{drop.ID()}}); err != nil || len(got.Sessions) != 1 || got.Blobs != 1 {
		t.Fatalf("pruned %+v, %v", got, err)
	}
	if _, err := store.Find(drop.ID()); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	sessiontest.WantHistory(t, sessiontest.Resume(t, store, keep.ID(), nil), "user: "+long("a"), "assistant: "+long("b"))
}

// age makes files old enough to be deleted.
func age(t *testing.T, dir string) {
	t.Helper()
	then := time.Now().Add(-48 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = os.Chtimes(path, then, then)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
