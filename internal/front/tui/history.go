package tui

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
)

// A History keeps what a person wrote.
type History interface {
	// Load returns what was written before, oldest first.
	Load() []string
	// Add keeps a text. That it cannot is no reason to stop.
	Add(text string)
}

type noHistory struct{}

func (noHistory) Load() []string { return nil }
func (noHistory) Add(string)     {}

// A HistoryFile keeps the history of prompts in a file, one JSON string per line. Several
// processes may write to it.
type HistoryFile string

// Load returns the newest texts of the file.
func (f HistoryFile) Load() []string {
	const most, longest = 1000, 1 << 20
	file, err := os.Open(string(f))
	if err != nil {
		return nil
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > longest {
		file.Seek(-longest, 2) // a line that is cut is no JSON
	}
	var texts []string
	for scan := bufio.NewScanner(file); scan.Scan(); {
		var text string
		if json.Unmarshal(scan.Bytes(), &text) == nil {
			texts = append(texts, text)
		}
	}
	return texts[max(0, len(texts)-most):]
}

// Add appends a text. What may be a secret of a command line is the person's own
// file, and nobody else's to read.
func (f HistoryFile) Add(text string) {
	line, err := json.Marshal(text)
	if err != nil || len(line) > 60<<10 {
		return
	}
	if os.MkdirAll(filepath.Dir(string(f)), 0o700) != nil {
		return
	}
	file, err := os.OpenFile(string(f), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	file.Write(append(line, '\n')) // losing a line of history is not worth a word
}
