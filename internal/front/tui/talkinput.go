package tui

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/tool"
)

// input is the [Input] of a harness's conversation.
type input struct{ c *harness.Conversation }

func (i input) Commands() []Command {
	var list []Command
	for _, c := range i.c.Input().Commands.List().Commands {
		list = append(list, Command{c.Name, c.Description, c.Hint})
	}
	return list
}

func (i input) Files(ctx context.Context) ([]string, error) {
	const most = 20000
	found, err := i.c.World.Search.Glob(ctx, search.GlobQuery{Pattern: "**/*", Dir: i.c.Dir(), Path: i.c.Dir(), Limit: most})
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range found.Files {
		if rel, err := filepath.Rel(i.c.Dir(), f); err == nil {
			f = rel
		}
		files = append(files, f)
	}
	return files, nil
}

func (i input) Call(ctx context.Context, name string, input any) (tool.Result, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return tool.Result{}, err
	}
	return i.c.Call(ctx, prompt.Request{Tool: name, Input: raw, Allow: []string{name}})
}

func (i input) NoteFiles() []NoteFile {
	var list []NoteFile
	for _, t := range i.c.NoteFiles() {
		list = append(list, NoteFile{t.Source.String(), t.Path, t.Exists})
	}
	return list
}

func (i input) Instructions() []string {
	var paths []string
	for _, f := range i.c.Instructions() {
		paths = append(paths, f.Path)
	}
	return paths
}

func (i input) KeepImage(png []byte) (path string, err error) { return i.c.KeepImage(png) }

func (i input) Arguments(ctx context.Context, command string, words []string, typed string) []string {
	return answers.Arguments(ctx, i.c, command, words, typed)
}

func (i input) CompleteResource(ctx context.Context, typed string) []string {
	return i.c.MCP.CompleteResource(ctx, typed)
}

func (i input) Servers() []mcp.Status { return i.c.MCP.Status() }
