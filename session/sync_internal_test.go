package session

import (
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// Only a disk that fails shows whether it was asked: here the file is closed under
// the journal.
func TestAJournalThatCannotReachTheDiskSaysSo(t *testing.T) {
	j := &journal{path: filepath.Join(t.TempDir(), "j"), fresh: true}
	if _, err := j.Append(t.Context(), Pos{}, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), Pos{}, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := j.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Sync(t.Context()); err == nil {
		t.Error("a sync that reached no disk is a success")
	}
	if j.synced == j.size {
		t.Error("what is not on the disk counts as synced")
	}
}

// The end of a call that changed something is on the disk before anything builds on it;
// that of a pure one can wait, because the call can be made again.
func TestTheEndOfACallWithAnEffectIsOnTheDisk(t *testing.T) {
	for effect, now := range map[tool.Effect]bool{tool.Unsafe: true, tool.Pure: false} {
		s, err := Open(t.TempDir()).Create(t.Context(), &CreateOptions{Cwd: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		st := s.streams[""]
		j := st.log.(*journal)
		st.soon.Store(true) // as if a sync were under way: what can wait is not synced here
		c := &tool.Call{ID: "1", UseID: "u", Tool: "T", Input: []byte(`{}`)}
		for _, r := range []sched.Record{
			{Step: sched.Dispatched, Call: c, Marks: tool.Marks{Effect: effect}},
			{Step: sched.Finished, Call: c, Outcome: &sched.Outcome{CallID: "1", UseID: "u", Tool: "T", Result: tool.Text("done")}},
		} {
			if err := s.Record(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if synced := j.synced == j.size; synced != now {
			t.Errorf("effect %v: on the disk %v, want %v", effect, synced, now)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
