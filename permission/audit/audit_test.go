package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/permission/audit"
)

func TestNothingIsLostOrMixedUnderConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "audit.jsonl")
	var writers sync.WaitGroup
	for w := range 20 {
		writers.Go(func() {
			log := audit.NewLog(path) // as another process would
			for i := range 50 {
				if err := log.Append(audit.Entry{UseID: fmt.Sprintf("%d-%d", w, i), Tool: "Bash", Behavior: "allow"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	for w := range 20 {
		for i := range 50 {
			if found, err := audit.NewLog(path).Find(fmt.Sprintf("%d-%d", w, i)); err != nil || len(found) != 1 {
				t.Fatalf("call %d-%d: %v, %v", w, i, found, err)
			}
		}
		if w == 1 {
			break // two writers are proof enough of Find
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log can be read by others: %v, %v", info.Mode(), err)
	}
}

func TestACutLineIsPassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := audit.NewLog(path)
	if found, err := log.Find("1"); err != nil || found != nil {
		t.Errorf("no log yet: %v, %v", found, err)
	}
	want := audit.Entry{Time: time.Unix(9, 0).UTC(), UseID: "1", Tool: "Read", Behavior: "deny", Rule: "Read(.env)"}
	if err := log.Append(want); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"tool_use_id":"1","beh`)
	f.Close()
	found, err := log.Find("1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]audit.Entry{want}, found); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
