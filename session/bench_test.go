package session_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/haftdev/haft/internal/test/sessiontest"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// BenchmarkCall is what the journal costs a turn with one call that reads: the
// answer, the verdict, the dispatch, and the result on the disk.
func BenchmarkCall(b *testing.B) {
	s, err := session.Open(b.TempDir()).Create(b.Context(), &session.CreateOptions{Cwd: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	text := tool.Text(fmt.Sprintf("%2000s", "text"))
	n := 0
	for b.Loop() {
		n++
		use := fmt.Sprintf("use-%d", n)
		c := &tool.Call{ID: use, UseID: use, Tool: "Read", Input: json.RawMessage(`{"file_path":"/a/b"}`)}
		err := s.Append(b.Context(), sessiontest.Answer(use, sessiontest.Use(use, "Read", `{"file_path":"/a/b"}`)))
		for _, rec := range []sched.Record{
			{Step: sched.Judged, Call: c}, {Step: sched.Dispatched, Call: c, Marks: tool.Marks{Effect: tool.Pure}},
			{Step: sched.Finished, Call: c, Outcome: &sched.Outcome{CallID: use, UseID: use, Tool: "Read", Result: text}},
		} {
			if err == nil {
				err = s.Record(b.Context(), rec)
			}
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
