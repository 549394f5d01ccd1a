package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/config/rewrite"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/tailscale/hujson"
)

// An edit changes a settings file: it returns JSON Patch operations for the content of the
// file, none for no change.
type edit func(document map[string]json.RawMessage) []patchOp

type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// editFile makes a change and leaves everything else as it is, including comments.
func editFile(ctx context.Context, t settings.Target, change edit) error {
	base := t.Root
	if base == "" {
		base = filepath.Dir(t.Path)
		if real, err := filepath.EvalSymlinks(t.Path); err == nil {
			t.Path, base = real, filepath.Dir(real)
		}
		if err := os.MkdirAll(base, 0o755); err != nil {
			return err
		}
	}
	name, err := filepath.Rel(base, t.Path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	err = rewrite.File(ctx, root, filepath.ToSlash(name), func(text []byte) ([]byte, error) { return patched(text, change) }, &rewrite.Options{Perm: 0o600})
	if err != nil {
		return fmt.Errorf("could not change %s: %w", t.Path, err)
	}
	return nil
}

func patched(text []byte, change edit) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	value, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	plain := value.Clone()
	plain.Standardize()
	var document map[string]json.RawMessage
	if err := json.Unmarshal(plain.Pack(), &document); err != nil {
		return nil, errors.New("it does not contain a JSON object")
	}
	ops := change(document)
	if len(ops) == 0 {
		return text, nil
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	before := value.Clone()
	if err := value.Patch(patch); err != nil {
		return nil, err
	}
	if unit := indentOf(&before); unit != "" {
		for _, op := range ops {
			tidy(&before, &value, strings.Split(op.Path, "/")[1:], unit)
		}
	}
	return value.Pack(), nil
}

// indentOf is the indentation of the members of a file; "" means that it is one line.
func indentOf(root *hujson.Value) string {
	object, ok := root.Value.(*hujson.Object)
	if !ok || len(object.Members) == 0 {
		return "  " // a new file
	}
	first := string(object.Members[0].Name.BeforeExtra)
	return first[strings.LastIndexByte(first, '\n')+1:]
}

// tidy puts what a patch has changed along a path on separate lines, indented like the rest
// of the file.
func tidy(before, after *hujson.Value, path []string, unit string) {
	for depth := 1; depth <= len(path); depth++ {
		here := after.Find(strings.Join(append([]string{""}, path[:depth-1]...), "/"))
		object, ok := here.Value.(*hujson.Object)
		if !ok {
			return
		}
		name := strings.Join(append([]string{""}, path[:depth]...), "/")
		was, is := before.Find(name) != nil, after.Find(name) != nil
		if is && !was { // a patch adds at the end
			last := &object.Members[len(object.Members)-1]
			last.Name.BeforeExtra = lineEnd(last.Name.BeforeExtra, unit, depth)
			last.Value = indented(last.Value, strings.Repeat(unit, depth), unit)
		}
		if is != was {
			object.AfterExtra = lineEnd(object.AfterExtra, unit, depth-1)
		}
		if !is || !was {
			return
		}
	}
}

// lineEnd keeps comments, and begins a new line.
func lineEnd(extra hujson.Extra, unit string, depth int) hujson.Extra {
	return hujson.Extra(strings.TrimRight(string(extra), " \t\n") + "\n" + strings.Repeat(unit, depth))
}

// indented is a value over several lines.
func indented(v hujson.Value, prefix, unit string) hujson.Value {
	var b bytes.Buffer
	if json.Indent(&b, v.Pack(), prefix, unit) != nil {
		return v
	}
	out, err := hujson.Parse(b.Bytes())
	if err != nil {
		return v
	}
	out.BeforeExtra = hujson.Extra(" ")
	return out
}

// pointer makes a JSON Pointer of keys.
func pointer(keys ...string) string {
	var b strings.Builder
	for _, k := range keys {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k))
	}
	return b.String()
}
