package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

// What a run has stored that is gone is removed, unless a journal refers to it, wherever an entry is
// cut in two. Contents of runs that are there, and contents that are nobody's files, stay.
func TestCollect(t *testing.T) {
	_, logs := open(t)
	put := func(to blob.Store, content string) string {
		t.Helper()
		digest := blob.Digest([]byte(content))
		if err := to.Put(t.Context(), digest, []byte(content)); err != nil {
			t.Fatal(err)
		}
		return digest
	}
	gone := func(run string) (bool, error) { return strings.HasPrefix(run, "gone"), nil }
	lost, forked := put(logs.Files("gone-1"), "of a run that is gone"), put(logs.Files("gone-2"), "of a run that was forked")
	cut, live, other := put(logs.Files("gone-2"), "in two entries"), put(logs.Files("live"), "of a run that is there"), put(logs.Blobs(), "a prompt")
	s, err := session.OpenLogs(logs, t.TempDir()).Create(t.Context(), &session.CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	state, _ := json.Marshal(map[string][]string{"packs": {forked}})
	if err := s.Append(t.Context(), session.Entry{State: &session.State{Name: session.StateFiles, Value: state}}); err != nil {
		t.Fatal(err)
	}
	// A digest begins at the end of one entry and ends in the next.
	log, pos, err := logs.Open(t.Context(), session.NewUUID(), "")
	if err == nil {
		const largest = 512 << 10
		long := append(bytes.Repeat([]byte{' '}, largest-30), cut...)
		_, err = log.Append(t.Context(), pos, append(long, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
	there := func(want map[string]bool) {
		t.Helper()
		for digest, want := range want {
			if _, err := logs.Blobs().Get(t.Context(), digest); (err == nil) != want || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v; want it there: %t", digest, err, want)
			}
		}
	}
	// If it is not known whether a run is gone, nothing is removed.
	if freed, err := logs.Collect(t.Context(), func(string) (bool, error) { return true, errors.New("no answer") }); err == nil || freed.Objects != 0 {
		t.Errorf("removed %+v, %v", freed, err)
	}
	there(map[string]bool{lost: true, forked: true, cut: true, live: true, other: true})
	freed, err := logs.Collect(t.Context(), gone)
	if want := (journal.Freed{Objects: 1, Bytes: uint64(len("of a run that is gone"))}); err != nil || freed != want {
		t.Errorf("removed %+v, %v; want %+v", freed, err, want)
	}
	there(map[string]bool{lost: false, forked: true, cut: true, live: true, other: true})
	// The last journal that needed it is deleted.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := logs.Delete(t.Context(), s.ID()); err != nil {
		t.Fatal(err)
	}
	if freed, err := logs.Collect(t.Context(), gone); err != nil || freed.Objects != 1 {
		t.Errorf("removed %+v, %v", freed, err)
	}
	there(map[string]bool{forked: false, cut: true, live: true, other: true})
	// What was removed can be stored again.
	put(logs.Files("live"), "of a run that is gone")
	there(map[string]bool{lost: true})
}
