package haft

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// RenameSession gives a session a title, which lists of sessions show.
func RenameSession(id, title string, opts *SessionsOptions) error {
	if strings.TrimSpace(title) == "" {
		return errors.New("rename session: the title is empty")
	}
	return opts.note(id, map[string]string{"type": "custom-title", "customTitle": strings.TrimSpace(title), "sessionId": id})
}

// TagSession sets the tag of a session; "" removes it.
func TagSession(id, tag string, opts *SessionsOptions) error {
	return opts.note(id, map[string]string{"type": "tag", "tag": strings.TrimSpace(tag), "sessionId": id})
}

// note appends a line to the file of a session, in one write, so that it falls between the
// lines of a command line that has the session open.
func (o *SessionsOptions) note(id string, entry map[string]string) error {
	path, err := o.file(id)
	if err != nil {
		return err
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("change session: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("change session: %w", err)
	}
	defer file.Close()
	if cut, err := endsMidLine(file); err != nil {
		return fmt.Errorf("change session: %w", err)
	} else if cut {
		line = append([]byte("\n"), line...)
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("change session: %w", err)
	}
	return nil
}

// endsMidLine reports whether the last line is incomplete, as when its writer was killed.
func endsMidLine(file *os.File) (bool, error) {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, end-1)
	return last[0] != '\n', err
}

// DeleteSession deletes a session and its sub-agents' transcripts. It cannot be undone. A
// command line that has the session open may write its file again.
func DeleteSession(id string, opts *SessionsOptions) error {
	path, err := opts.file(id)
	if err != nil {
		return err
	}
	// The folder goes first: without the file it could not be found again.
	if err := os.RemoveAll(strings.TrimSuffix(path, ".jsonl")); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// Subagents returns the ids of the sub-agents that worked in a session, sorted.
func Subagents(id string, opts *SessionsOptions) ([]string, error) {
	path, err := opts.file(id)
	if err != nil {
		return nil, err
	}
	found, err := os.ReadDir(subagentsDir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list sub-agents: %w", err)
	}
	var ids []string
	for _, f := range found {
		name, agent := strings.CutPrefix(f.Name(), "agent-")
		if name, journal := strings.CutSuffix(name, ".jsonl"); agent && journal {
			ids = append(ids, name)
		}
	}
	return ids, nil
}

func subagentsDir(path string) string {
	return filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
}

// SubagentMessages returns the conversation of a sub-agent, oldest first. The error is an
// [io/fs.ErrNotExist] if the session has no such sub-agent.
func SubagentMessages(id, agent string, opts *SessionsOptions) ([]SessionMessage, error) {
	path, err := opts.file(id)
	if err != nil {
		return nil, err
	}
	if !plainID.MatchString(agent) {
		return nil, fmt.Errorf("read sub-agent %q: %w", agent, fs.ErrNotExist)
	}
	file := filepath.Join(subagentsDir(path), "agent-"+agent+".jsonl")
	return readChain(file, func(*SessionMessage) bool { return true })
}
