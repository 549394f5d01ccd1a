package session

import (
	"path/filepath"
	"testing"
)

// Only a disk that fails shows whether it was asked: here the file is closed under
// the journal.
func TestAJournalThatCannotReachTheDiskSaysSo(t *testing.T) {
	j := &journal{path: filepath.Join(t.TempDir(), "j"), fresh: true}
	if err := j.write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := j.sync(); err != nil {
		t.Fatal(err)
	}
	if err := j.write([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := j.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.sync(); err == nil {
		t.Error("a sync that reached no disk is a success")
	}
	if j.synced == j.size {
		t.Error("what is not on the disk counts as synced")
	}
}
