package haft

import (
	"errors"
	"fmt"
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
