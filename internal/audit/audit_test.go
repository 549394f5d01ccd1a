package audit_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/audit"
)

func TestNothingIsLostOrMixedUnderConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "audit.jsonl")
	var writers sync.WaitGroup
	for w := range 20 {
		writers.Go(func() {
			log := audit.NewLog(path, nil) // as another process would
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
			if found, err := audit.NewLog(path, nil).Find(fmt.Sprintf("%d-%d", w, i)); err != nil || len(found) != 1 {
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
	log := audit.NewLog(path, nil)
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

func TestALongInputIsKeptAsItsBeginningAndDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := audit.NewLog(path, nil)
	input := json.RawMessage(`{"content":"` + strings.Repeat("é", 1<<20) + `"}`)
	if err := log.Append(audit.Entry{UseID: "1", Tool: "Write", Input: input}); err != nil {
		t.Fatal(err)
	}
	found, err := log.Find("1")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	e, sum := found[0], sha256.Sum256(input)
	if e.Input != nil || e.InputBytes != len(input) || e.InputDigest != hex.EncodeToString(sum[:]) || !strings.HasPrefix(string(input), e.InputHead) || len(e.InputHead) < 4000 {
		t.Errorf("%d bytes of head, %d, %s", len(e.InputHead), e.InputBytes, e.InputDigest)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 10_000 {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

func TestTheLogIsBoundedAndWhatWasPutAsideIsFound(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "audit-notes.jsonl")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := audit.NewLog(filepath.Join(dir, "audit.jsonl"), &audit.Options{File: 1000, Files: 2})
	for i := range 100 {
		if err := log.Append(audit.Entry{UseID: fmt.Sprint(i), Tool: "Bash", Reason: strings.Repeat("x", 100)}); err != nil {
			t.Fatal(err)
		}
	}
	var total int64
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if len(entries) > 4 || total > 4000 {
		t.Errorf("%d files of %d bytes: %v", len(entries), total, entries)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("a file that is not the log's is gone")
	}
	for _, id := range []string{"99", "90", "86"} {
		if found, err := log.Find(id); err != nil || len(found) != 1 {
			t.Errorf("call %s: %v, %v", id, found, err)
		}
	}
	if found, _ := log.Find("0"); found != nil {
		t.Error("the oldest is still there")
	}
}
