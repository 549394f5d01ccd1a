package read

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/internal/tools/picture"
)

const (
	maxNotebook = 64 << 20
	maxOutput   = 10_000                 // characters of text of one cell's outputs
	maxSource   = 40_000                 // characters of one cell's source
	maxImages   = 20                     // of one call, shown or not
	maxPixels   = 2 * picture.MaxDecoded // bytes of their pixels
)

// cell is a cell of a notebook.
type cell struct {
	ID       string       `json:"cell_id"`
	Type     string       `json:"cellType"`
	Language string       `json:"language,omitempty"`
	Source   string       `json:"source"`
	Count    *int         `json:"execution_count,omitempty"`
	Outputs  []cellOutput `json:"outputs,omitempty"`
}

// cellOutput is one output of a cell.
type cellOutput struct {
	Type  string     `json:"output_type"`
	Text  string     `json:"text,omitempty"`
	Image *cellImage `json:"image,omitempty"`
}

// cellImage is an image in the output of a cell.
type cellImage struct {
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

// cell returns cell i as it is shown.
func (nb nbFormat) cell(ctx context.Context, i int, path string, shop *imageShop) (cell, []string) {
	n := (*nb.Cells)[i]
	cell := cell{ID: n.ID, Type: n.Type, Source: string(n.Source), Count: n.Count}
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
func (c cell) tokens() int {
	n := tokens(c.Source)
	for _, o := range c.Outputs {
		n += tokens(o.Text)
	}
	return n
}

// show takes from an output what a model can see: an image if there is one, else text.
func (o nbOutput) show(ctx context.Context, shop *imageShop) cellOutput {
	out := cellOutput{Type: o.Type, Text: string(o.Text)}
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

// bound cuts long texts and says how to see the rest.
func (c *cell) bound(i int, path string) []string {
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
