package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/sessiontest/journaltest"
)

// longJournal writes a journal of about size bytes that was compacted every
// megabyte, and ends with a megabyte since the last time.
func longJournal(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), NewUUID()+".jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	old := megabyte("old") // what nobody reads can as well be the same
	for written := int64(0); written < size-1<<20; written += int64(len(old)) {
		if _, err := file.Write(old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.Write(megabyte("last")); err != nil {
		t.Fatal(err)
	}
	return path
}

// megabyte is a compaction and a megabyte of what came after it.
func megabyte(name string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"parentUuid":null,"type":"system","subtype":"compact_boundary","uuid":"%s-b","haft":{"snapshot":{"parts":1,"messages":1,"states":{"n":1}}}}`+"\n", name)
	fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(userLine(name+"-s", name+"-b", "summary"), "}")+`,"haft":{"summaryOf":"`+name+`-b"}}`)
	text, parent := quote(strings.Repeat("some words of an output\n", 100)), name+"-s"
	for n := 0; out.Len() < 1<<20; n++ {
		fmt.Fprintf(&out, "%s\n", useLine(fmt.Sprintf("%s-a%d", name, n), parent, fmt.Sprintf("m%d", n), fmt.Sprintf("u%d", n)))
		parent = fmt.Sprintf("%s-r%d", name, n)
		fmt.Fprintf(&out, `{"parentUuid":"%s-a%d","type":"user","uuid":"%s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u%d","content":%s}]},"toolUseResult":%s}`+"\n", name, n, parent, n, text, text)
	}
	return out.Bytes()
}

// TestALongJournalIsReadFromItsEnd resumes from 64 MB, or from 1 GB if
// HAFT_TORTURE is set, and compares that with a journal of a few megabytes.
func TestALongJournalIsReadFromItsEnd(t *testing.T) {
	size := int64(64 << 20)
	if os.Getenv("HAFT_TORTURE") != "" {
		size = 1 << 30
	}
	long, short := longJournal(t, size), longJournal(t, 3<<20)
	cost := func(path string) (took time.Duration, allocated uint64) {
		took = time.Hour
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			s, err := resume(t.Context(), path, &ResumeOptions{})
			took = min(took, time.Since(start))
			runtime.ReadMemStats(&after)
			allocated = after.TotalAlloc - before.TotalAlloc
			if err != nil {
				t.Fatal(err)
			}
			if err := journaltest.Sendable(s.Restored().History); err != nil {
				t.Fatal(err)
			}
			if n := s.Restored().History.Len(); n < 100 || string(s.Restored().States["n"]) == "" {
				t.Fatalf("%d messages, states %s", n, s.Restored().States)
			}
		}
		return took, allocated
	}
	tookShort, allocShort := cost(short)
	tookLong, allocLong := cost(long)
	t.Logf("%d MB: %v and %d KB allocated; 3 MB: %v and %d KB", size>>20, tookLong, allocLong>>10, tookShort, allocShort>>10)
	if size == 1<<30 && tookLong > time.Second { // a short run may be a slow one
		t.Errorf("the long journal took %v", tookLong)
	}
	if allocLong > 2*allocShort || allocLong > 100<<20 {
		t.Errorf("the long journal took %d bytes, the short one %d", allocLong, allocShort)
	}
}
