package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/test/sessiontest/journaltest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// record writes a session with the given number of calls, in answers of one to
// four, some of which end while the answer is still being written, with a
// compaction now and then. It returns the file.
func record(t *testing.T, calls, compactEvery int) string {
	t.Helper()
	s, err := Open(t.TempDir()).Create(t.Context(), &CreateOptions{Cwd: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(entries ...Entry) {
		if err := s.Append(t.Context(), entries...); err != nil {
			t.Fatal(err)
		}
	}
	step := func(n int, step sched.Step) {
		c := &tool.Call{ID: fmt.Sprint(n), UseID: fmt.Sprintf("u%d", n), Tool: "T", Input: json.RawMessage(`{"n":1}`)}
		rec := sched.Record{Step: step, Call: c, Marks: tool.Marks{Effect: tool.Pure}}
		if step == sched.Finished {
			rec.Outcome = &sched.Outcome{CallID: c.ID, UseID: c.UseID, Tool: "T", Result: tool.Text(fmt.Sprintf("result %d", n))}
		}
		if err := s.Record(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	put(userText("start"))
	for n, turn := 0, 0; n < calls; turn++ {
		id := fmt.Sprintf("m%d", turn)
		put(said(id, model.Block{Type: model.Thinking, Text: "hm", Signature: "s"}), said(id, model.TextOf(fmt.Sprintf("turn %d", turn))))
		first, width := n, min(turn%4+1, calls-n)
		for ; n < first+width; n++ {
			put(said(id, model.Block{Type: model.ToolUse, ID: fmt.Sprintf("u%d", n), Name: "T", Input: json.RawMessage(`{"n":1}`)}))
			step(n, sched.Judged)
			if turn%3 == 0 { // it runs while the model speaks
				step(n, sched.Dispatched)
				step(n, sched.Finished)
			}
		}
		for i := n - 1; turn%3 != 0 && i >= first; i-- {
			step(i, sched.Dispatched)
			step(i, sched.Finished)
		}
		put(Entry{State: &State{Name: "turn", Value: json.RawMessage(fmt.Sprint(turn))}})
		if compactEvery > 0 && turn%compactEvery == compactEvery-1 {
			put(Entry{Compaction: &Compaction{Trigger: "auto", Messages: []model.Message{
				{Role: model.User, Content: []model.Block{model.TextOf(fmt.Sprintf("summary %d", turn))}},
				{Role: model.Assistant, Content: []model.Block{{Type: model.ToolUse, ID: fmt.Sprintf("k%d", turn), Name: "T"}}},
				{Role: model.User, Content: []model.Block{{Type: model.ToolResult, UseID: fmt.Sprintf("k%d", turn), Content: tool.Text("kept").Content}}},
			}}})
		}
	}
	put(said("last", model.TextOf("done")))
	return s.Path()
}

func userText(s string) Entry {
	return Entry{Message: &Message{Role: model.User, Content: []model.Block{model.TextOf(s)}}}
}

func said(id string, b model.Block) Entry {
	return Entry{Message: &Message{Role: model.Assistant, ID: id, Model: "m", Content: []model.Block{b}}}
}

// expected is what a cut journal must still say, by a plain reading of its lines.
type expected struct {
	results map[string]bool // texts since the last whole compaction
	state   string
	last    string // what begins the conversation
}

// expect reads whole lines one by one and returns what is expected after each.
func expect(t *testing.T, raw []byte) map[int]expected {
	t.Helper()
	at := map[int]expected{}
	now := expected{results: map[string]bool{}, last: "start"}
	parts, end := 0, 0
	var pending expected
	for text := range bytes.Lines(raw) {
		end += len(text)
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		x := l.extra()
		switch {
		case x.Snapshot != nil:
			parts, pending = x.Snapshot.Parts, expected{results: map[string]bool{}, state: now.state}
		case x.SummaryOf != "":
			m, _ := l.message()
			if parts == 3 {
				pending.last = m.Content[0].Text
			}
			if parts--; parts == 0 {
				now = pending
			}
		case l.ToolUseResult != nil:
			m, _ := l.message()
			next := map[string]bool{tool.JoinText(m.Content[0].Content): true}
			for r := range now.results {
				next[r] = true
			}
			now.results = next
		case x.State != nil:
			now.state = string(x.State.Value)
		}
		at[end] = now
		at[end-1] = now // the last line end is missing
	}
	return at
}

func checkCut(path string, want expected) error {
	s, err := resume(context.Background(), path, &ResumeOptions{})
	if err != nil {
		return err
	}
	h := s.Restored().History
	if err := journaltest.Sendable(h); err != nil {
		return err
	}
	if got := string(s.Restored().States["turn"]); got != want.state {
		return fmt.Errorf("the state is %q, want %q", got, want.state)
	}
	found := 0
	for i := range h.Len() {
		m, err := h.Message(i)
		if err != nil {
			return err
		}
		if i == 0 && want.last != m.Content[0].Text {
			return fmt.Errorf("it begins with %q, want %q", m.Content[0].Text, want.last)
		}
		for _, b := range m.Content {
			if b.Type == model.ToolResult && want.results[tool.JoinText(b.Content)] {
				found++
			}
		}
	}
	if found != len(want.results) {
		return fmt.Errorf("%d results of %d are there", found, len(want.results))
	}
	return nil
}

// TestEveryCutResumes cuts a journal of 220 calls. If HAFT_TORTURE is set it is cut
// at every byte, and resumed there, which takes some minutes. Without compactions a
// resume reads all of it: then at every byte only what is read is compared, and
// each line is resumed when it is whole and when it is torn, since what a resume
// says depends on nothing but the lines that can be read. Otherwise some bytes stand for all.
func TestEveryCutResumes(t *testing.T) {
	torture := os.Getenv("HAFT_TORTURE") != ""
	for name, compactEvery := range map[string]int{"with compactions": 2, "without": 0} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(record(t, 220, compactEvery))
			if err != nil {
				t.Fatal(err)
			}
			var cuts []int
			lines, end := 0, 0
			for text := range bytes.Lines(raw) {
				lines++
				if compactEvery > 0 && lines%6 == 0 {
					cuts = append(cuts, end+1+lines*7919%len(text))
				}
				if torture || lines%200 == 0 {
					checkTorn(t, text)
					cuts = append(cuts, end+1, end+len(text)/2, end+len(text)-1, end+len(text))
				}
				end += len(text)
			}
			slices.Sort(cuts)
			all := make([]int, len(raw))
			for i := range all {
				all[i] = i + 1
			}
			switch {
			case torture && compactEvery > 0:
				cuts = all
			case torture:
				checkPieces(t, raw, all)
			default:
				checkPieces(t, raw, cuts)
			}
			cutAt(t, raw, cuts)
		})
	}
}

// checkPieces checks that a journal that ends at a cut is read line by line.
func checkPieces(t *testing.T, raw []byte, cuts []int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "whole.jsonl")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := openTail(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	for _, cut := range cuts {
		at := newTail(path, backward(r.file, int64(cut)), int64(cut))
		end := cut
		for !at.whole() {
			piece, err := at.previous()
			if err != nil {
				t.Fatal(err)
			}
			begin := bytes.LastIndexByte(raw[:end-1], '\n') + 1
			if !bytes.Equal(piece, raw[begin:end]) {
				t.Fatalf("cut at %d: from %d to %d %q was read", cut, begin, end, piece)
			}
			end = begin
		}
		if end != 0 {
			t.Fatalf("cut at %d: the first %d bytes were not read", cut, end)
		}
	}
}

// checkTorn checks that no beginning of a line reads as one.
func checkTorn(t *testing.T, text []byte) {
	t.Helper()
	whole := bytes.TrimSuffix(text, []byte("\n"))
	for cut := range len(whole) {
		if l := new(tail).parse(whole[:cut]); l != nil {
			t.Fatalf("%s was read", whole[:cut])
		}
	}
}

// cutAt resumes from each cut, which are in order.
func cutAt(t *testing.T, raw []byte, cuts []int) {
	wants := expect(t, raw)
	t.Logf("%d bytes, %d cuts", len(raw), len(cuts))
	const workers = 4
	var group sync.WaitGroup
	for w := range workers {
		mine := cuts[len(cuts)*w/workers : len(cuts)*(w+1)/workers]
		copied := filepath.Join(t.TempDir(), "cut.jsonl")
		if err := os.WriteFile(copied, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for _, cut := range slices.Backward(mine) {
				if err := os.Truncate(copied, int64(cut)); err != nil {
					t.Error(err)
				}
				want, ok := wants[cut]
				if !ok {
					want = wants[bytes.LastIndexByte(raw[:cut], '\n')+1]
				}
				if err := checkCut(copied, want); err != nil {
					t.Errorf("cut at byte %d of %d: %v", cut, len(raw), err)
					return
				}
			}
		})
	}
	group.Wait()
}
