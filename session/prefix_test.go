package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/model"
)

// turns writes turns to a session, each a prompt, a call with a result of some bytes and
// an answer.
func turns(t testing.TB, s *Session, name string, count, size int) {
	t.Helper()
	text := strings.Repeat("some words of a file\n", size/21)
	for n := range count {
		id := fmt.Sprintf("%s%d", name, n)
		input, _ := json.Marshal(map[string]string{"file_path": "/a/" + id})
		result := model.Block{Type: model.ToolResult, UseID: "u" + id, Content: nil}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"type":"tool_result","tool_use_id":"u%s","content":[{"type":"text","text":%q}]}`, id, id+text), &result); err != nil {
			t.Fatal(err)
		}
		err := s.Append(t.Context(),
			Entry{Message: &Message{Role: model.User, Content: []model.Block{model.TextOf("go " + id)}}},
			Entry{Message: &Message{Role: model.Assistant, ID: "m" + id, Model: "m", Content: []model.Block{{Type: model.ToolUse, ID: "u" + id, Name: "Read", Input: input}}, Usage: model.Usage{Input: 1}}},
			Entry{Message: &Message{Role: model.User, Content: []model.Block{result}}},
			Entry{State: &State{"n", json.RawMessage(fmt.Sprint(n))}},
			Entry{Message: &Message{Role: model.Assistant, ID: "e" + id, Model: "m", Content: []model.Block{model.TextOf("done " + id)}, Usage: model.Usage{Output: 2}}},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// restoredOf is everything that a resume says, to compare.
func restoredOf(t testing.TB, s *Session) map[string]any {
	t.Helper()
	r := s.Restored()
	var history []string
	for i := range r.History.Len() {
		history = append(history, string(r.History.JSON(i)))
	}
	return map[string]any{"history": history, "size": r.History.Size(), "last": r.Last, "states": fmt.Sprintf("%s", r.States), "lost": fmt.Sprint(r.Lost),
		"messages": r.Messages, "usage": r.Usage, "model": r.Model, "title": r.Title, "cwd": r.Cwd, "damaged": r.Damaged, "tail": s.streams[""].tail, "torn": s.streams[""].torn,
		"repairs": len(s.repairs), "tally": fmt.Sprintf("%+v", s.tally.snapshot())}
}

// resumeBoth resumes with what is kept and without, and fails if that differs. It leaves
// no trace.
func resumeBoth(t testing.TB, path string) (used bool) {
	t.Helper()
	with, err := readOn(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	without, err := read(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	opts := &ResumeOptions{At: "keeps nothing"}
	a, err := with.session(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	b, err := without.session(t.Context(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(restoredOf(t, b), restoredOf(t, a)); diff != "" {
		t.Fatalf("resume (-without +with what is kept):\n%.2000s", diff)
	}
	return with.prefix != nil
}

const long = 50 << 10 // of a result, and less than a blob takes

// prefixed returns the files of a session whose journal has a prefix.
func prefixed(t testing.TB) (store *Store, path string) {
	t.Helper()
	store = Open(t.TempDir())
	s, err := store.Create(t.Context(), &CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	turns(t, s, "a", prefixStep/long+2, long)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), indexFile)); err != nil {
		t.Fatalf("nothing is kept: %v", err)
	}
	return store, s.Path()
}

func TestALongSessionIsResumedFromWhatIsKept(t *testing.T) {
	store, path := prefixed(t)
	if !resumeBoth(t, path) {
		t.Error("what is kept is not used")
	}
	for round := range 3 { // and again, with more each time
		s, err := store.Resume(t.Context(), idOf(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		turns(t, s, fmt.Sprint("r", round), []int{1, 2, prefixStep/long + 2}[round], long)
		if round == 0 {
			s.lock.release() // as if the process had died
		} else if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !resumeBoth(t, path) {
			t.Errorf("round %d: what is kept is not used", round)
		}
	}
}

// keepNow keeps what a journal says, however short it is.
func keepNow(t testing.TB, path string) {
	t.Helper()
	r, err := read(t.Context(), path, "", "")
	if err != nil {
		t.Fatal(err)
	}
	messages, _ := fold(r.chain, r.beside, r.calls)
	journal, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	p, err := r.writePrefix(path, journal, messages)
	if err != nil {
		t.Fatal(err)
	}
	now, err := stampsOf(journal, p.dir)
	if err != nil {
		t.Fatal(err)
	}
	p.index.Sealed = &now
	if err := p.index.save(p.dir); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyWhatIsKeptRightIsUsed changes the journal and what is kept of it in every way
// that a crash, a disk or another program may: a resume says the same as without.
func TestOnlyWhatIsKeptRightIsUsed(t *testing.T) {
	s, err := Open(t.TempDir()).Create(t.Context(), &CreateOptions{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	turns(t, s, "a", 4, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	keepNow(t, path)
	files := map[string][]byte{}
	for _, file := range []string{path, filepath.Join(dirOf(path), indexFile), filepath.Join(dirOf(path), textFile), filepath.Join(dirOf(path), tableFile)} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = raw
	}
	put := func(file string, raw []byte) {
		t.Helper()
		temp := file + ".test" // never in place: another process may have it mapped
		if err := os.WriteFile(temp, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temp, file); err != nil {
			t.Fatal(err)
		}
	}
	rounds := 100
	if os.Getenv("HAFT_NIGHTLY") != "" {
		rounds = 20_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	more := `{"parentUuid":%q,"type":"user","uuid":"new-1","sessionId":"s","message":{"role":"user","content":"more"}}` + "\n"
	last := func() string {
		read, err := read(t.Context(), path, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return read.last()
	}()
	first := files[path][:bytes.IndexByte(files[path], '\n')+1]
	var tails []string
	for _, parent := range []string{last, "nobody", "new-1"} {
		tails = append(tails, fmt.Sprintf(more, parent))
	}
	tails = append(tails, string(first), "garbage\n", `{"type":"haft-state","sessionId":"s","haft":{"state":{"name":"n","value":"x"}}}`+"\n",
		fmt.Sprintf(`{"parentUuid":%q,"type":"assistant","uuid":"new-2","sessionId":"s","message":{"id":"ea0","role":"assistant","content":[{"type":"text","text":"more"}]}}`+"\n", last),
		`{"parentUuid":null,"type":"system","subtype":"compact_boundary","uuid":"b","haft":{"snapshot":{"parts":0,"messages":1}}}`+"\n", `{"parentUuid":`)
	for _, tail := range tails {
		put(path, append(bytes.Clone(files[path]), tail...))
		resumeBoth(t, path)
	}
	for range rounds {
		for file, raw := range files {
			changed := bytes.Clone(raw)
			switch at := r.IntN(len(raw)); r.IntN(3) {
			case 0:
				changed[at] ^= byte(1 + r.IntN(255))
			case 1:
				changed = changed[:at]
			case 2:
				changed = append(changed[:at:at], changed[min(len(changed), at+1+r.IntN(9)):]...)
			}
			put(file, changed)
			if file == path && len(changed) == 0 {
				continue
			}
			resumeBoth(t, path)
			put(file, raw)
		}
	}
	if !resumeBoth(t, path) {
		t.Error("what is right is not used")
	}
}
