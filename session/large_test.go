package session

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
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
	out := bufio.NewWriterSize(file, 1<<20)
	var written, segment int64
	put := func(format string, args ...any) {
		n, err := fmt.Fprintf(out, format+"\n", args...)
		if err != nil {
			t.Fatal(err)
		}
		written, segment = written+int64(n), segment+int64(n)
	}
	text, parent := quote(strings.Repeat("some words of an output\n", 100)), ""
	for n := 0; written < size; n++ {
		put("%s", useLine(fmt.Sprintf("a%d", n), parent, fmt.Sprintf("m%d", n), fmt.Sprintf("u%d", n)))
		put(`{"parentUuid":"a%d","type":"user","uuid":"r%d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u%d","content":%s}]},"toolUseResult":%s}`, n, n, n, text, text)
		parent = fmt.Sprintf("r%d", n)
		if segment > 1<<20 && written+1<<20 < size {
			put(`{"parentUuid":null,"logicalParentUuid":"r%d","type":"system","subtype":"compact_boundary","uuid":"b%d","haft":{"snapshot":{"parts":1,"messages":%d,"states":{"n":%d}}}}`, n, n, 2*n, n)
			put("%s", strings.TrimSuffix(userLine(fmt.Sprintf("s%d", n), fmt.Sprintf("b%d", n), "summary"), "}")+fmt.Sprintf(`,"haft":{"summaryOf":"b%d"}}`, n))
			parent, segment = fmt.Sprintf("s%d", n), 0
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return path
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
			if err := checkSendable(s.Restored().History); err != nil {
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
	if tookLong > 5*tookShort || tookLong > time.Second {
		t.Errorf("the long journal took %v, the short one %v", tookLong, tookShort)
	}
	if allocLong > 2*allocShort || allocLong > 100<<20 {
		t.Errorf("the long journal took %d bytes, the short one %d", allocLong, allocShort)
	}
}
