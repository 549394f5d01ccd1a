package headless

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/wire"
)

// A mirror repeats what is written to the files of a session, so that the program can store
// the session elsewhere as well. It belongs to the goroutine that runs turns.
type mirror struct {
	send func(wire.Message)
	seen map[string]int64 // how far each file was repeated
}

// newMirror returns a mirror of what is written from now on to a session that continues,
// and of all of a new one.
func newMirror(talk *harness.Conversation, goesOn bool, send func(wire.Message)) *mirror {
	m := &mirror{send: send, seen: make(map[string]int64)}
	for _, path := range transcripts(talk) {
		if info, err := os.Stat(path); err == nil && goesOn {
			m.seen[path] = info.Size()
		}
	}
	return m
}

// transcripts are the files of a session: its own, and those of its agents.
func transcripts(talk *harness.Conversation) []string {
	journal := talk.Journal()
	if journal.Path() == "" {
		return nil
	}
	agents, _ := filepath.Glob(filepath.Join(journal.Dir(), "subagents", "*.jsonl")) // the pattern is ours
	return append([]string{journal.Path()}, agents...)
}

// repeat sends the program what is new. A nil mirror repeats nothing.
func (m *mirror) repeat(talk *harness.Conversation) {
	if m == nil {
		return
	}
	for _, path := range transcripts(talk) {
		first := m.seen[path] == 0
		lines, err := m.news(path)
		if err == nil && first {
			lines = append(described(path), lines...)
		}
		if err == nil && len(lines) > 0 {
			m.send(&wire.TranscriptMirror{FilePath: path, Entries: lines})
		}
	}
}

// described is the entry for the file beside an agent's journal that says what the agent is
// for.
func described(path string) []json.RawMessage {
	raw, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".meta.json")
	var members map[string]any
	if err != nil || json.Unmarshal(raw, &members) != nil {
		return nil // it is not an agent's
	}
	members["type"] = "agent_metadata"
	return []json.RawMessage{mustJSON(members)}
}

// news are the whole lines of a file that were not repeated yet.
func (m *mirror) news(path string) (lines []json.RawMessage, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err // it is not written yet
	}
	defer f.Close()
	if _, err := f.Seek(m.seen[path], io.SeekStart); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	raw = raw[:bytes.LastIndexByte(raw, '\n')+1]
	m.seen[path] += int64(len(raw))
	for line := range bytes.Lines(raw) {
		if line = bytes.TrimSpace(line); json.Valid(line) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}
