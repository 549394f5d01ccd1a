package read

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/workspace"
	"github.com/haftdev/haft/workspace/blob"
	"github.com/haftdev/haft/workspace/readstate"
)

const (
	maxNotebook = 64 << 20
	maxOutput   = 10_000 // characters of text of one cell's outputs
	maxImages   = 20     // of one notebook
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

// CellImage is an image that a cell put out.
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

func (r *reader) showNotebook(c *tool.Call, f opened) (Output, error) {
	raw, err := readUpTo(f, maxNotebook)
	if err != nil {
		return Output{}, err
	}
	var nb nbFormat
	if err := json.Unmarshal(raw, &nb); err != nil || nb.Cells == nil {
		return Output{}, tool.Errorf("%s is not a Jupyter notebook of format 4: %s. Use Bash to look at its text.", f.facts.Path, notebookFault(err))
	}
	out := Output{Type: "notebook", File: File{OriginalSize: int64(len(raw))}}
	images := 0
	for i, n := range *nb.Cells {
		cell := Cell{ID: n.ID, Type: n.Type, Source: string(n.Source), Count: n.Count}
		if cell.ID == "" {
			cell.ID = fmt.Sprintf("cell-%d", i)
		}
		if n.Type == "code" {
			cell.Language = nb.Metadata.Language.Name
		}
		for _, o := range n.Outputs {
			shown := o.show(images < maxImages)
			if shown.Image != nil {
				images++
			}
			cell.Outputs = append(cell.Outputs, shown)
		}
		if note := cell.bound(i, f.facts.Path); note != "" {
			out.File.Notes = append(out.File.Notes, note)
		}
		out.File.Cells = append(out.File.Cells, cell)
	}
	if len(out.File.Cells) == 0 {
		out.File.Notes = append(out.File.Notes, "The notebook has no cells.")
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime, Base: raw, Ranges: []readstate.Range{workspace.Whole}})
	return out, nil
}

func notebookFault(err error) string {
	if err != nil {
		return err.Error()
	}
	return "it has no cells array"
}

// show takes from an output what a model can see: an image if there is one, else text.
func (o nbOutput) show(images bool) CellOutput {
	out := CellOutput{Type: o.Type, Text: string(o.Text)}
	if o.Type == "error" {
		out.Text = o.Name + ": " + o.Value + "\n" + strings.Join(o.Traceback, "\n")
	}
	for _, mediaType := range []string{"image/png", "image/jpeg"} {
		var encoded nbText
		if !images || json.Unmarshal(o.Data[mediaType], &encoded) != nil {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
		if err != nil {
			continue
		}
		if shown, err := fit(raw, mediaType); err == nil {
			out.Image = &CellImage{base64.StdEncoding.EncodeToString(shown.data), shown.mediaType}
			return out
		}
	}
	var plain nbText
	if json.Unmarshal(o.Data["text/plain"], &plain) == nil {
		out.Text += string(plain)
	}
	return out
}

// bound cuts the text of outputs and says how to see the rest.
func (c *Cell) bound(i int, path string) string {
	room, cut := maxOutput, false
	for j := range c.Outputs {
		o := &c.Outputs[j]
		if len(o.Text) > room {
			o.Text = strings.ToValidUTF8(o.Text[:room], "") + "… [cut]"
			cut = true
		}
		room = max(0, room-len(o.Text))
	}
	if !cut {
		return ""
	}
	return fmt.Sprintf("The outputs of cell %s are cut. To see them whole use Bash: jq '.cells[%d].outputs' %s", c.ID, i, path)
}

// renderCells writes cells between tags, with their images as images.
func renderCells(cells []Cell) []tool.Block {
	var blocks []tool.Block
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			blocks = append(blocks, tool.Block{Type: tool.TextBlock, Text: strings.TrimRight(b.String(), "\n")})
			b.Reset()
		}
	}
	for _, c := range cells {
		fmt.Fprintf(&b, "<cell id=%q type=%q", c.ID, c.Type)
		if c.Language != "" {
			fmt.Fprintf(&b, " language=%q", c.Language)
		}
		fmt.Fprintf(&b, ">\n%s\n</cell>\n", strings.TrimRight(c.Source, "\n"))
		for _, o := range c.Outputs {
			if o.Text != "" {
				fmt.Fprintf(&b, "<output cell=%q type=%q>\n%s\n</output>\n", c.ID, o.Type, strings.TrimRight(o.Text, "\n"))
			}
			if o.Image != nil {
				flush()
				blocks = append(blocks, tool.Block{Type: tool.ImageBlock, MediaType: o.Image.MediaType, Data: decoded(o.Image.Data)})
			}
		}
	}
	flush()
	if len(blocks) == 0 {
		blocks = append(blocks, tool.Block{Type: tool.TextBlock})
	}
	return blocks
}
