// Package changetest makes random files and calls that change them, and applies
// what a front end was shown, so that tests can hold what people see of a change
// against what becomes of the file. It is a test aid: pure, apart from the file that
// [New] writes, and safe for concurrent use with a source of chance each.
package changetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/internal/world/workspace/textfile"
)

// A Case is a call that would change a file.
type Case struct {
	Kind  string // what is special about it, for counting
	Path  string
	Tool  string
	Input json.RawMessage
	// Before is the file's content; Exists is false for one that is to be made.
	Before []byte
	Exists bool
}

func (c Case) String() string {
	return fmt.Sprintf("%s: %s %s on %q", c.Kind, c.Tool, c.Input, c.Before)
}

// makeCase writes a random file into dir and returns a random call on it.
func makeCase(r *rand.Rand, dir string) (Case, error) {
	g := &maker{Rand: r}
	c := Case{Path: filepath.Join(dir, fmt.Sprintf("f%d.txt", r.IntN(1<<30))), Exists: true}
	var err error
	switch r.IntN(8) {
	case 0:
		err = g.notebook(&c)
	case 1:
		c.Kind, c.Tool, c.Exists = "a new file", "Write", false
		c.Input = object{"file_path": c.Path, "content": g.lines()}.json()
	default:
		err = g.text(&c)
	}
	if err == nil && c.Exists {
		err = os.WriteFile(c.Path, c.Before, []os.FileMode{0o600, 0o644, 0o755}[r.IntN(3)])
	}
	return c, err
}

type object map[string]any

func (o object) json() json.RawMessage {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // strings, numbers and lists encode
	}
	return raw
}

type maker struct{ *rand.Rand }

func (g *maker) pick(from ...string) string { return from[g.IntN(len(from))] }

// words are few, so that they occur more than once.
func (g *maker) word() string {
	return g.pick("one", "two", "three", "x = 1", "naïve", "für", "{", "}", "\ttab", "\"quoted\"", "a.b(c)", "Größe", "")
}

func (g *maker) lines() string {
	var b strings.Builder
	for range 1 + g.IntN(12) {
		b.WriteString(g.word() + g.pick("", " ", "  ") + g.word() + "\n")
	}
	return b.String()
}

// encodings are those that files come in, by the name that textfile has for them.
var encodings = []string{"UTF-8", "UTF-8", "UTF-8 with BOM", "UTF-16LE with BOM", "UTF-16BE with BOM", "windows-1252", "ISO-8859-1"}

// text makes a text file of some encoding and line ending, and a call on it.
func (g *maker) text(c *Case) error {
	text := g.lines()
	if strings.TrimSpace(text) == "" {
		text = "one\n"
	}
	if g.IntN(3) == 0 {
		text = strings.TrimRight(text, "\n")
	}
	name := g.pick(encodings...)
	ending := g.pick("LF", "CRLF", "mixed")
	c.Kind = name + ", " + ending
	var err error
	if c.Before, err = encode(g.endings(text, ending), name); err != nil {
		return err
	}
	switch g.IntN(6) {
	case 0:
		c.Tool, c.Input = "Write", object{"file_path": c.Path, "content": g.lines()}.json()
	case 1:
		c.Tool = "MultiEdit"
		var list []object
		for range 1 + g.IntN(3) {
			list = append(list, g.edit(text))
		}
		c.Input = object{"file_path": c.Path, "edits": list}.json()
	case 2:
		c.Tool = "Bash"
		c.Input = object{"command": fmt.Sprintf("sed -i 's/%s/%s/%s' %s", g.pick("o", "one", "t[wh]", "x = 1"), g.pick("O", "[&]", "ü", ""), g.pick("", "g"), filepath.Base(c.Path))}.json()
	default:
		c.Tool = "Edit"
		in := g.edit(text)
		in["file_path"] = c.Path
		c.Input = in.json()
	}
	return nil
}

func (g *maker) endings(text, style string) string {
	switch style {
	case "CRLF":
		return strings.ReplaceAll(text, "\n", "\r\n")
	case "mixed":
		parts := strings.Split(text, "\n")
		var b strings.Builder
		for i, p := range parts {
			b.WriteString(p)
			if i < len(parts)-1 {
				b.WriteString(g.pick("\n", "\r\n"))
			}
		}
		return b.String()
	}
	return text
}

func encode(text, name string) ([]byte, error) {
	name, marked := strings.CutSuffix(name, " with BOM")
	if name == "UTF-8" {
		if marked {
			text = "\uFEFF" + text
		}
		return []byte(text), nil
	}
	enc, ok := textfile.ByName(name)
	if !ok {
		return nil, fmt.Errorf("no encoding is named %s", name)
	}
	if marked {
		text = "\uFEFF" + text
	}
	return enc.Encode(text)
}

// edit replaces something of a text: a word, a line or several.
func (g *maker) edit(text string) object {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	from := g.IntN(len(lines))
	to := min(len(lines), from+1+g.IntN(3))
	old := strings.Join(lines[from:to], "\n")
	if fields := strings.Fields(old); len(fields) > 0 && g.IntN(2) == 0 {
		old = fields[g.IntN(len(fields))]
	}
	if old == "" {
		old = "one"
	}
	in := object{"old_string": old, "new_string": g.pick("", "new", "neu: "+g.word(), "first\nsecond", old+" and more")}
	switch n := strings.Count(text, old); {
	case n > 1 && g.IntN(2) == 0:
		in["expected_replacements"] = n
	case n > 1 || g.IntN(4) == 0:
		in["replace_all"] = true
	}
	return in
}

// notebook makes a notebook and a call that changes a cell of it.
func (g *maker) notebook(c *Case) error {
	c.Kind, c.Tool, c.Path = "a notebook", "NotebookEdit", strings.TrimSuffix(c.Path, ".txt")+".ipynb"
	var cells []object
	for i := range 1 + g.IntN(4) {
		cells = append(cells, object{"id": fmt.Sprintf("cell%d", i), "cell_type": "code", "metadata": object{}, "source": []string{g.word() + "\n", g.word()}, "outputs": []int{}, "execution_count": nil})
	}
	raw, err := json.MarshalIndent(object{"cells": cells, "metadata": object{}, "nbformat": 4, "nbformat_minor": 5}, "", g.pick(" ", "  "))
	if err != nil {
		return err
	}
	c.Before = []byte(g.endings(string(raw)+g.pick("", "\n"), g.pick("LF", "CRLF")))
	in := object{"notebook_path": c.Path, "cell_id": fmt.Sprintf("cell%d", g.IntN(len(cells))), "new_source": g.lines(), "edit_mode": g.pick("replace", "insert", "delete")}
	if in["edit_mode"] == "insert" {
		in["cell_type"] = g.pick("code", "markdown")
	}
	c.Input = in.json()
	return nil
}

// Apply makes the change that hunks show in a text.
func Apply(text []byte, hunks []patch.Hunk) ([]byte, error) {
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	at := 0
	for _, h := range hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start++
		}
		for ; at < start; at++ {
			b.WriteString(lines[at])
		}
		for i, l := range h.Lines {
			end := "\n"
			if i+1 < len(h.Lines) && strings.HasPrefix(h.Lines[i+1], `\`) {
				end = ""
			}
			switch l[0] {
			case ' ', '-':
				if at >= len(lines) || lines[at] != l[1:]+end {
					return nil, fmt.Errorf("line %d is not %q", at+1, l[1:]+end)
				}
				at++
			}
			if l[0] == ' ' || l[0] == '+' {
				b.WriteString(l[1:] + end)
			}
		}
	}
	return []byte(b.String() + strings.Join(lines[min(at, len(lines)):], "")), nil
}

// Texts are a file's contents before and after a change as people read them. The file
// keeps its encoding, also where that could no longer be told from the bytes.
func Texts(before, after []byte) (was, is []byte, err error) {
	t, err := textfile.Parse(before)
	if err != nil {
		return nil, nil, err
	}
	return t.Bytes(), textfile.Decode(after, t.Encoding()).Bytes(), nil
}
