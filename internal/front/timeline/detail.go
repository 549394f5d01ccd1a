package timeline

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
)

// A Detail is an item with the whole of its texts, up to a bound.
type Detail struct {
	Item
	// Input is that of a call.
	Input json.RawMessage `json:"input,omitempty"`
	// Images are those of a prompt or a result.
	Images []Image `json:"images,omitempty"`
	// Output is the typed output of a call.
	Output json.RawMessage `json:"output,omitempty"`
}

// An Image is one that was said or returned; Data is base64 in JSON.
type Image struct {
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// How much of a text, and of an image, a detail has, in bytes.
const (
	maxDetail = 256 << 10
	maxImage  = 4 << 20
)

// Read reads the whole of an item from the session's file at path. What cannot be read
// stays as short as it is.
func Read(ctx context.Context, path string, i *Item) Detail {
	d := Detail{Item: *i}
	if i.Call != nil {
		call := *i.Call
		d.Call = &call
	}
	if b, _, ok := blockAt(ctx, path, i.said); ok {
		d.said(&b)
	}
	if b, m, ok := blockAt(ctx, path, i.result); ok && d.Call != nil {
		d.Call.Result, d.Call.ResultCut = bounded(tool.JoinText(b.Content))
		for _, c := range b.Content {
			d.image(c.MediaType, c.Data)
		}
		if len(m.Output) <= maxDetail {
			d.Output = m.Output
		}
	}
	return d
}

// said fills in what a block says.
func (d *Detail) said(b *model.Block) {
	switch {
	case b.Type == model.ToolUse:
		if len(b.Input) <= maxDetail && json.Valid(b.Input) {
			d.Input, d.Text, d.Cut = b.Input, "", false
		}
	case b.Text != "":
		d.Text, d.Cut = bounded(b.Text)
	case b.Raw != nil:
		var raw struct {
			Source struct {
				MediaType string `json:"media_type"`
				Data      []byte `json:"data"`
			} `json:"source"`
		}
		if json.Unmarshal(b.Raw, &raw) == nil {
			d.image(raw.Source.MediaType, raw.Source.Data)
		}
	}
}

// image adds an image of a kind that every browser draws without running anything.
func (d *Detail) image(mediaType string, data []byte) {
	switch mediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		if len(data) > 0 && len(data) <= maxImage {
			d.Images = append(d.Images, Image{mediaType, data})
		}
	}
}

func bounded(text string) (string, bool) {
	if len(text) <= maxDetail {
		return strings.ToValidUTF8(text, "\ufffd"), false
	}
	return strings.ToValidUTF8(text[:maxDetail], ""), true
}

func blockAt(ctx context.Context, path string, p place) (b model.Block, m *session.Message, ok bool) {
	if !p.known {
		return b, nil, false
	}
	e, err := session.ReadAt(ctx, path, p.file, p.offset)
	if err != nil || e.Message == nil || p.block >= len(e.Message.Content) {
		return b, nil, false
	}
	return e.Message.Content[p.block], e.Message, true
}
