package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/lsp"
)

// What an edit may cost.
const (
	editPatience = 2 * time.Second // that all servers together have
	maxEdited    = 10              // files of one call
	maxNew       = 10              // errors of one file
)

// AfterEdit returns the problems that running servers find in files that were just written, as
// text for the model; "" if there are none, or if they are not known in time. Dir is where the
// agent works. It starts no server.
func (t *Tools) AfterEdit(ctx context.Context, dir string, paths []string) string {
	if t.opts.Servers == nil || !t.opts.Servers.Any() || len(paths) > maxEdited {
		return ""
	}
	deadline := time.Now().Add(editPatience)
	var texts []string
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path = filepath.Clean(path)
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		client := t.opts.Servers.Running(path, dir)
		left := time.Until(deadline)
		if client == nil || left <= 0 {
			continue
		}
		list, whole, err := client.Diagnostics(ctx, path, left)
		if err != nil || !whole { // the edit was made, and the next question says what is wrong with the server
			continue
		}
		if text := t.news(client, path, dir, list); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// news says which errors of a file were not there when it was last looked at; if it
// never was, which there are.
func (t *Tools) news(client *lsp.Client, path, dir string, list []lsp.Diagnostic) string {
	before, looked := t.remember(path, list)
	var fresh []lsp.Diagnostic
	for _, d := range list {
		if d.Severity != lsp.SeverityError {
			continue
		}
		if before[d.Message] > 0 {
			before[d.Message]--
			continue
		}
		fresh = append(fresh, d)
	}
	if len(fresh) == 0 {
		return ""
	}
	q := &question{tools: t, path: path, dir: dir, lines: map[string][]string{}}
	what := "finds these errors in"
	if looked {
		what = "finds these new errors in"
	}
	return fmt.Sprintf("%s %s %s:\n%s", client.Name(), what, q.name(path), q.findings(fresh, maxNew))
}

// maxKnown is how many files' errors are remembered.
const maxKnown = 1000

// remember keeps the errors of a file and returns those that were there before; looked
// reports whether any were looked for.
func (t *Tools) remember(path string, list []lsp.Diagnostic) (before map[string]int, looked bool) {
	now := make(map[string]int)
	for _, d := range list {
		if d.Severity == lsp.SeverityError {
			now[d.Message]++
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, looked = t.known[path]
	if len(t.known) >= maxKnown {
		clear(t.known)
	}
	t.known[path] = now
	copied := make(map[string]int, len(before))
	for message, n := range before {
		copied[message] = n
	}
	return copied, looked
}
