package session

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/tool"
)

// A plainJournal is a journal that was never compacted: calls with results of 2 KB, as
// the session of a model that reads files has them, and an answer at the end of each part.
type plainJournal struct {
	path, parent string
	n            int
}

func newPlainJournal(t testing.TB) *plainJournal {
	return &plainJournal{path: filepath.Join(t.TempDir(), NewUUID()+".jsonl"), parent: "null"}
}

// add adds a part of about size bytes.
func (j *plainJournal) add(t testing.TB, size int64) {
	t.Helper()
	file, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	text, _ := plainjson.Marshal(strings.Repeat("\tif err != nil { return \"some words of a file\" }\n", 40))
	line := func(format string, args ...any) {
		m, err := fmt.Fprintf(out, format+"\n", args...)
		if err != nil {
			t.Fatal(err)
		}
		size -= int64(m)
	}
	const common = `"isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"s","version":"1","timestamp":"2026-01-02T03:04:05.678Z"`
	say := func(kind, message, result string) {
		uuid := fmt.Sprintf("%012d-4000-8000-00000000000a", j.n)
		line(`{"parentUuid":%s,%s,"type":%q,"message":%s,"uuid":%q%s}`, j.parent, common, kind, message, uuid, result)
		j.parent = strconv.Quote(uuid)
		j.n++
	}
	say("user", `{"role":"user","content":"read on"}`, "")
	for size > 0 {
		n := j.n
		say("assistant", fmt.Sprintf(`{"id":"msg_%[1]d","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_%[1]d","name":"Read","input":{"file_path":"/home/user/project/file%[1]d.go"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":5}}`, n), "")
		for _, step := range []string{`"step":"judged"`, fmt.Sprintf(`"step":"dispatched","effect":%d`, tool.Pure)} {
			line(`{"sessionId":"s","type":"haft-call","timestamp":"2026-01-02T03:04:05.678Z","haft":{"call":{"id":"c%[1]d","useId":"toolu_%[1]d","tool":"Read",%[2]s}}}`, n, step)
		}
		say("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":[{"type":"text","text":%s}]}]}`, n, text),
			fmt.Sprintf(`,"toolUseResult":{"type":"text","file":{"filePath":"/home/user/project/file%d.go","content":%s,"numLines":40}}`, n, text))
	}
	say("assistant", fmt.Sprintf(`{"id":"end_%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5}}`, j.n), "")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

// journalSize is how large the journals of benchmarks are.
func journalSize() int64 {
	mb, _ := strconv.Atoi(os.Getenv("HAFT_JOURNAL_MB"))
	return int64(max(mb, 8)) << 20
}

// BenchmarkResumePlain resumes a journal that was never compacted, of HAFT_JOURNAL_MB
// megabytes, as a session that was never resumed before.
func BenchmarkResumePlain(b *testing.B) {
	j := newPlainJournal(b)
	j.add(b, journalSize())
	b.SetBytes(journalSize())
	b.ReportAllocs()
	for b.Loop() {
		dropPrefix(dirOf(j.path))
		s, err := resume(b.Context(), j.path, &ResumeOptions{})
		if err != nil || s.Restored().History.Len() < 100 {
			b.Fatal(err)
		}
	}
}

// keepPlainJournal makes a plain journal of so many bytes and what is kept of it, as a long session leaves it that
// adds a part at a time. Only one part is in memory, and none is read twice.
func keepPlainJournal(t testing.TB, size int64) *plainJournal {
	t.Helper()
	const part = 16 << 20
	j := newPlainJournal(t)
	s := &Session{path: j.path, dir: dirOf(j.path), blobs: blobsIn(filepath.Dir(j.path))}
	for left := size; left > 0; left -= part {
		j.add(t, min(left, part))
		r, err := readOn(t.Context(), j.path, s.prefix)
		if err != nil {
			t.Fatal(err)
		}
		messages, lost := fold(r.chain, r.beside, r.calls)
		if r.lost = len(lost); r.lost > 0 || r.damage > 0 || (r.prefix == nil) != (s.prefix == nil) {
			t.Fatalf("%d calls have no result, %d lines cannot be read, or what is kept (%t) was not used (%t)", r.lost, r.damage, s.prefix != nil, r.prefix != nil)
		}
		s.prefix = r.keepPrefix(j.path, messages)
	}
	if err := s.sealPrefix(t.Context()); err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	return j
}

// BenchmarkResumeKept resumes it from what was kept of it. It reports the memory that is the process's own.
func BenchmarkResumeKept(b *testing.B) {
	j := keepPlainJournal(b, journalSize())
	before, began := ownMemory(), processorTime()
	var s *Session
	b.SetBytes(journalSize())
	b.ReportAllocs()
	for b.Loop() {
		var err error
		s, err = resume(b.Context(), j.path, &ResumeOptions{})
		if err != nil || s.Restored().History.Len() < 100 || s.prefix == nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime()-began).Microseconds())/1000/float64(b.N), "ms-cpu/op")
	b.ReportMetric(float64(ownMemory()-before)/(1<<20)/float64(b.N), "MB-own/op")
	if info, err := os.Stat(j.path); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "MB-journal")
	}
}

// processorTime is what the process has taken, in steps of 10 ms; 0 where that is not told.
func processorTime() time.Duration {
	raw, _ := os.ReadFile("/proc/self/stat")
	_, rest, _ := strings.Cut(string(raw), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// ownMemory is the anonymous memory of the process, in bytes; 0 where that is not told.
func ownMemory() int64 {
	raw, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// TestAResumeDoesNotGrowWithTheJournal resumes journals of which one is three times as long, from what is
// kept: neither is read, so that the time hardly differs, and what is allocated grows by the table of messages
// alone. BenchmarkResumeKept measures a journal of 1 GB.
func TestAResumeDoesNotGrowWithTheJournal(t *testing.T) {
	if !seals() {
		t.Skip("what is kept is compared with the journal here")
	}
	type cost struct {
		took      time.Duration
		allocated uint64
		size      int64
	}
	measure := func(size int64) (c cost) {
		j := keepPlainJournal(t, size)
		info, err := os.Stat(j.path)
		if err != nil {
			t.Fatal(err)
		}
		c.took, c.size = time.Hour, info.Size()
		for range 7 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			s, err := resume(t.Context(), j.path, &ResumeOptions{})
			c.took = min(c.took, time.Since(start))
			runtime.ReadMemStats(&after)
			if err != nil || s.prefix == nil {
				t.Fatalf("what is kept is not used: %v", err)
			}
			c.allocated = after.TotalAlloc - before.TotalAlloc
		}
		return c
	}
	short, long := measure(5<<20), measure(15<<20)
	t.Logf("%d MB: %v, %d KB; %d MB: %v, %d KB", short.size>>20, short.took, short.allocated>>10, long.size>>20, long.took, long.allocated>>10)
	more := uint64(long.size - short.size)
	if grown := long.allocated - min(long.allocated, short.allocated); grown > more/20 {
		t.Errorf("%d bytes more were allocated for a journal that is %d bytes longer", grown, more)
	}
	if long.took > 3*short.took+20*time.Millisecond {
		t.Errorf("a journal three times as long took %v instead of %v", long.took, short.took)
	}
}
