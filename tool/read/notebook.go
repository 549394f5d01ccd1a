package read

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/internal/workspace/readstate"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/internal/picture"
	"github.com/haftdev/haft/workspace"
)

const (
	maxNotebook = 64 << 20
	maxOutput   = 10_000                 // characters of text of one cell's outputs
	maxSource   = 40_000                 // characters of one cell's source
	maxImages   = 20                     // of one call, shown or not
	maxPixels   = 2 * picture.MaxDecoded // bytes of their pixels
)

// Cell is a cell of a notebook.
type Cell struct {
	ID       string       `json:"cell_id"`
	Type     string       `json:"cellType"`
	Language string       `json:"language,omitempty"`
	Source   string       `json:"source"`
	Count    *int         `json:"execution_count,omitempty"`
	Outputs  []CellOutput `json:"outputs,omitempty"`
}

// CellOutput is one output of a cell.
type CellOutput struct {
	Type  string     `json:"output_type"`
	Text  string     `json:"text,omitempty"`
	Image *CellImage `json:"image,omitempty"`
}

// CellImage is an image in the output of a cell.
type CellImage struct {
	Data      string `json:"image_data"` // in base64
	MediaType string `json:"media_type"`
}

// nbText is a string, or an array of lines.
type nbText string

func (t *nbText) UnmarshalJSON(b []byte) error {
	var lines []string
	if err := json.Unmarshal(b, &lines); err == nil {
		*t = nbText(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// nbFormat is what is read of a notebook file.
type nbFormat struct {
	Cells *[]struct {
		ID      string     `json:"id"`
		Type    string     `json:"cell_type"`
		Source  nbText     `json:"source"`
		Count   *int       `json:"execution_count"`
		Outputs []nbOutput `json:"outputs"`
	} `json:"cells"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

type nbOutput struct {
	Type      string                     `json:"output_type"`
	Text      nbText                     `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Name      string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

func (r *reader) showNotebook(ctx context.Context, c *tool.Call, in Input, f opened) (Output, error) {
	raw, err := readUpTo(f, maxNotebook)
	if err != nil {
		return Output{}, err
	}
	var nb nbFormat
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF")), &nb); err != nil || nb.Cells == nil {
		return Output{}, tool.Errorf("%s is not a Jupyter notebook of format 4: %s. Use Bash to look at its text.", f.facts.Path, notebookFault(err))
	}
	out := Output{Type: "notebook", File: File{OriginalSize: int64(len(raw))}}
	shop := &imageShop{Fitter: r.images, images: maxImages, pixels: maxPixels}
	total := len(*nb.Cells)
	from := min(max(in.Offset, 1), total+1) - 1
	next := min(total, from+cmp.Or(in.Limit, defaultLimit))
	for i, used := from, 0; i < next; i++ {
		cell, notes := nb.cell(ctx, i, f.facts.Path, shop)
		if err := ctx.Err(); err != nil {
			return Output{}, err
		}
		if used += cell.tokens(); used > in.tokens() && i > from {
			next, out.File.Truncated = i, true
			break
		}
		out.File.Cells, out.File.Notes = append(out.File.Cells, cell), append(out.File.Notes, notes...)
	}
	out.File.Notes = append(out.File.Notes, notebookNotes(f.facts.Path, in, from, next, total, shop.refused)...)
	seen := workspace.Whole
	if next-from < total {
		seen.To = 1 // not enough to replace the file by
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime, Base: raw, Ranges: []readstate.Range{seen}})
	return out, nil
}

// notebookNotes says what the cells themselves do not.
func notebookNotes(path string, in Input, from, next, total, images int) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case total == 0:
		say("The notebook has no cells.")
	case from == total:
		say("The notebook has %s, so there is nothing at cell %d. Call Read with an offset from 1 to %d.", plural.Of(total, "cell"), in.Offset, total)
	case next < total:
		say("%s of %d %s shown. To continue, call Read with file_path %q and offset %d.", span("Cell", from+1, next), total, verb(from+1, next), path, next+1)
	}
	if images > 0 {
		say("%s not shown: damaged, or over the limit.", plural.Of(images, "image"))
	}
	return out
}

// notebookFault says what is wrong with the file, not with our reading of it.
func notebookFault(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return "it has no cells array"
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("%s must not be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("it has a %s where none is allowed", kind.Value)
	}
	return err.Error()
}

// cell returns cell i as it is shown.
func (nb nbFormat) cell(ctx context.Context, i int, path string, shop *imageShop) (Cell, []string) {
	n := (*nb.Cells)[i]
	cell := Cell{ID: n.ID, Type: n.Type, Source: string(n.Source), Count: n.Count}
	if cell.ID == "" {
		cell.ID = fmt.Sprintf("cell-%d", i)
	}
	if n.Type == "code" {
		cell.Language = nb.Metadata.Language.Name
	}
	for _, o := range n.Outputs {
		cell.Outputs = append(cell.Outputs, o.show(ctx, shop))
	}
	return cell, cell.bound(i, path)
}

// tokens estimates what the text of a cell costs.
func (c Cell) tokens() int {
	n := tokens(c.Source)
	for _, o := range c.Outputs {
		n += tokens(o.Text)
	}
	return n
}

// show takes from an output what a model can see: an image if there is one, else text.
func (o nbOutput) show(ctx context.Context, shop *imageShop) CellOutput {
	out := CellOutput{Type: o.Type, Text: string(o.Text)}
	if o.Type == "error" {
		out.Text = o.Name + ": " + o.Value + "\n" + strings.Join(o.Traceback, "\n")
	}
	for _, mediaType := range []string{"image/png", "image/jpeg"} {
		var encoded nbText
		if json.Unmarshal(o.Data[mediaType], &encoded) != nil {
			continue
		}
		if out.Image = shop.show(ctx, string(encoded), mediaType); out.Image != nil {
			return out
		}
	}
	var plain nbText
	if json.Unmarshal(o.Data["text/plain"], &plain) == nil {
		out.Text += string(plain)
	}
	return out
}

func (s *imageShop) show(ctx context.Context, encoded, mediaType string) *CellImage {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err == nil && s.take(raw, mediaType) {
		if shown, err := s.Fit(ctx, raw, mediaType); err == nil {
			return &CellImage{base64.StdEncoding.EncodeToString(shown.Data), shown.MediaType}
		}
	}
	s.refused++
	return nil
}

// bound cuts long texts and says how to see the rest.
func (c *Cell) bound(i int, path string) []string {
	var notes []string
	if len(c.Source) > maxSource {
		c.Source = strings.ToValidUTF8(c.Source[:maxSource], "") + "… [cut]"
		notes = append(notes, fmt.Sprintf("The source of cell %s is cut off. To see all of it, use Bash: jq -r '.cells[%d].source' %s", c.ID, i, path))
	}
	room, cut := maxOutput, false
	for j := range c.Outputs {
		o := &c.Outputs[j]
		if len(o.Text) > room {
			o.Text = strings.ToValidUTF8(o.Text[:room], "") + "… [cut]"
			cut = true
		}
		room = max(0, room-len(o.Text))
	}
	if cut {
		notes = append(notes, fmt.Sprintf("The outputs of cell %s are cut off. To see all of them, use Bash: jq '.cells[%d].outputs' %s", c.ID, i, path))
	}
	return notes
}
