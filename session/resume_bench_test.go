package session

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/plainjson"
)

// plainJournal writes a journal of about size bytes that was never compacted: calls
// with results of 2 KB, as the session of a model that reads files has them.
func plainJournal(t testing.TB, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), NewUUID()+".jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	parent, written := `null`, int64(0)
	text, _ := plainjson.Marshal(strings.Repeat("\tif err != nil { return \"some words of a file\" }\n", 40))
	for n := 0; written < size; n++ {
		a, r := fmt.Sprintf("%08d-0000-4000-8000-00000000000a", n), fmt.Sprintf("%08d-0000-4000-8000-00000000000b", n)
		m, err := fmt.Fprintf(out, `{"parentUuid":%[1]s,"isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"s","version":"1","type":"assistant","message":{"id":"msg_%[2]d","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_%[2]d","name":"Read","input":{"file_path":"/home/user/project/file%[2]d.go"}}],"stop_reason":"tool_use","usage":{"input_tokens":10,"output_tokens":5}},"uuid":"%[3]s","timestamp":"2026-01-02T03:04:05.678Z"}
{"sessionId":"s","type":"haft-call","timestamp":"2026-01-02T03:04:05.678Z","haft":{"call":{"id":"c%[2]d","useId":"toolu_%[2]d","tool":"Read","step":"judged"}}}
{"sessionId":"s","type":"haft-call","timestamp":"2026-01-02T03:04:05.678Z","haft":{"call":{"id":"c%[2]d","useId":"toolu_%[2]d","tool":"Read","step":"dispatched","effect":"pure"}}}
{"parentUuid":"%[3]s","isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"s","version":"1","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%[2]d","content":[{"type":"text","text":%[4]s}]}]},"uuid":"%[5]s","timestamp":"2026-01-02T03:04:05.678Z","toolUseResult":{"type":"text","file":{"filePath":"/home/user/project/file%[2]d.go","content":%[4]s,"numLines":40}}}
`, parent, n, a, text, r)
		if err != nil {
			t.Fatal(err)
		}
		written += int64(m)
		parent = `"` + r + `"`
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkResumePlain resumes a journal that was never compacted, of HAFT_JOURNAL_MB
// megabytes.
func BenchmarkResumePlain(b *testing.B) {
	mb, _ := strconv.Atoi(os.Getenv("HAFT_JOURNAL_MB"))
	path := plainJournal(b, int64(max(mb, 8))<<20)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		s, err := resume(b.Context(), path, &ResumeOptions{})
		if err != nil || s.Restored().History.Len() < 100 {
			b.Fatal(err)
		}
	}
}
