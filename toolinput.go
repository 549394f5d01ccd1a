package haft

import (
	"encoding/json"
	"fmt"
)

// InputOf decodes the input of a call: ToolRequest.Input, HookInput.ToolInput or ToolUse.Input,
// such as a [BashInput], or a type of the program. A policy must decode an input before it
// compares anything, because JSON can spell the same text in many ways.
func InputOf[T any](input json.RawMessage) (T, error) {
	var in T
	if err := json.Unmarshal(input, &in); err != nil {
		return in, fmt.Errorf("decode the input of a call: %w", err)
	}
	return in, nil
}

// BashInput is the input of Bash.
type BashInput struct {
	Command         string `json:"command"`
	Timeout         int    `json:"timeout"` // in milliseconds
	Description     string `json:"description"`
	RunInBackground bool   `json:"run_in_background"`
}

// ReadInput is the input of Read.
type ReadInput struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
}

// EditInput is the input of Edit.
type EditInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// WriteInput is the input of Write.
type WriteInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// WebFetchInput is the input of WebFetch.
type WebFetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt"`
}
