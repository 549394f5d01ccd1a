// Package prompt turns the text of a skill or a command into what a model reads:
// arguments take the place of $ARGUMENTS, $1 and $name, the output of a command
// that of !`command`, and files that are mentioned as @path follow.
//
//	text, err := prompt.Parse(body).Expand(ctx, prompt.Use{Arguments: "42 high"}, calls)
//
// Commands and files are what the text itself asks for: what an argument, an
// output or a file brings in is never read as another command.
//
// Trust: the package runs and reads nothing. Commands and files become calls of
// Bash and Read that Calls must take through the whole pipeline, so that rules,
// hooks and modes see them like any other call.
//
// Templates are safe for concurrent use.
package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/knowledge/mention"
	"github.com/haftdev/haft/tool"
)

// A Use is one use of a template.
type Use struct {
	// Arguments are what was given, as typed.
	Arguments string
	// Names are those of the arguments in order; $name stands for one.
	Names []string
	// Vars stand for ${NAME}.
	Vars map[string]string
	// Dir is where mentioned files are looked for; "" means that none are added.
	Dir string
	// Allow are rules that hold for the template's own calls.
	Allow []string
	// Parent is the call that this happens in; nil means that a user typed it.
	Parent *tool.Call
}

// A Request is a call that a template asks for.
type Request struct {
	Tool  string
	Input json.RawMessage
	// Allow are rules that hold for this call beside those of the session.
	Allow []string
	// Parent is the call that this one happens in; nil means none.
	Parent *tool.Call
}

// Calls take a call through the pipeline. An error means that it did not run, as
// when it was denied; what ran and failed is a result.
type Calls func(context.Context, Request) (tool.Result, error)

// maxFiles is how many mentioned files follow a text.
const maxFiles = 20

// Mentioned returns the files that the text mentions and that are there, as calls of
// Read give them, and the names in folders; most of what an @ begins is neither. Images and
// documents are the media.
func Mentioned(ctx context.Context, calls Calls, u Use, text string) (files string, media []tool.Block, err error) {
	if u.Dir == "" {
		return "", nil, nil
	}
	var b strings.Builder
	count := 0
	for _, name := range mention.Paths(text) {
		req, path, ok := reading(u.Dir, name)
		if !ok {
			continue
		}
		if count++; count > maxFiles {
			return "", nil, fmt.Errorf("more than %d files are mentioned", maxFiles)
		}
		req.Allow, req.Parent = u.Allow, u.Parent
		r, err := calls(ctx, req)
		if err != nil {
			return "", nil, fmt.Errorf("could not read @%s: %w", name, err)
		}
		for _, block := range r.Content {
			if block.Type != tool.TextBlock {
				media = append(media, block)
			}
		}
		if r.Text() == "" && len(r.Content) > 0 {
			continue
		}
		kind := "file"
		if req.Tool != "Read" {
			kind = "folder"
		}
		fmt.Fprintf(&b, "\n\n<%s path=%q>\n%s\n</%s>", kind, path, strings.TrimSpace(r.Text()), kind)
	}
	return b.String(), media, nil
}

// reading is the call that shows what a mention names, if that is there.
func reading(dir, name string) (r Request, path string, ok bool) {
	file, from, to := mention.Lines(name)
	info, path, ok := Find(dir, name)
	if !ok { // a file may be called like one with lines
		if info, path, ok = Find(dir, file); !ok {
			return r, path, false
		}
	} else {
		from = 0
	}
	input := map[string]any{"file_path": path}
	r.Tool = "Read"
	switch {
	case info.IsDir():
		r.Tool, input = "Glob", map[string]any{"pattern": "*", "path": path}
	case from > 0:
		input["offset"], input["limit"] = from, to-from+1
	}
	raw, err := json.Marshal(input)
	r.Input = raw
	return r, path, err == nil && (info.IsDir() || info.Mode().IsRegular())
}

// Find looks for what a mention names.
func Find(dir, name string) (info os.FileInfo, path string, ok bool) {
	if path = name; !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	return info, path, err == nil
}
