package audit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/guard/audit"
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

// An entry is encoded by hand, and must read as encoding/json would have written it.
func TestEveryFieldOfAnEntryIsFound(t *testing.T) {
	log := audit.NewLog(filepath.Join(t.TempDir(), "audit.jsonl"), nil)
	full := audit.Entry{Time: time.Unix(9, 5).UTC(), UseID: "1"}
	for i := range reflect.TypeFor[audit.Entry]().NumField() {
		field, f := reflect.TypeFor[audit.Entry]().Field(i), reflect.ValueOf(&full).Elem().Field(i)
		switch f.Interface().(type) {
		case string:
			if f.String() == "" {
				f.SetString(field.Name + " \"<é\n\u2028")
			}
		case json.RawMessage:
			f.SetBytes([]byte("{\n  \"a\": [1, \"x\\n\"]\n}"))
		case int:
			f.SetInt(3)
		}
	}
	for _, e := range []audit.Entry{full, {UseID: "2", Tool: "Read", Behavior: "deny"}} {
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
		found, err := log.Find(e.UseID)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if e.Input != nil {
			if err := json.Compact(&compact, e.Input); err != nil {
				t.Fatal(err)
			}
			e.Input = compact.Bytes()
		}
		if d := cmp.Diff([]audit.Entry{e}, found); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if log.Append(audit.Entry{UseID: "3", Input: json.RawMessage("{")}) == nil {
		t.Error("a line that cannot be read was written")
	}
}

// A log stays open, but not to a file that another process has put aside, or that a user has removed.
func TestALogFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log := audit.NewLog(path, nil)
	add := func(id string) {
		t.Helper()
		if err := log.Append(audit.Entry{UseID: id, Tool: "Bash", Behavior: "allow"}); err != nil {
			t.Fatal(err)
		}
	}
	add("1")
	if err := os.Rename(path, filepath.Join(filepath.Dir(path), fmt.Sprintf("audit-%020d.jsonl", 1))); err != nil {
		t.Fatal(err)
	}
	add("2")
	for _, id := range []string{"1", "2"} {
		if found, err := log.Find(id); err != nil || len(found) != 1 {
			t.Errorf("call %s: %v, %v", id, found, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	add("3")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	add("4")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "3", "4"} {
		if found, err := audit.NewLog(path, nil).Find(id); err != nil || len(found) != 1 {
			t.Errorf("call %s: %v, %v", id, found, err)
		}
	}
}
