package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// A medium is an image or a document of a conversation.
type medium struct {
	image     bool
	mediaType string
	data      []byte
}

// mediumOf returns the image or document in a block of a message. One that is stored
// elsewhere and only named is ignored.
func mediumOf(b model.Block) (medium, bool) {
	if b.Type != "image" && b.Type != "document" {
		return medium{}, false
	}
	var w struct {
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      []byte `json:"data"`
		} `json:"source"`
	}
	if json.Unmarshal(b.Raw, &w) != nil || w.Source.Type != "base64" {
		return medium{}, false
	}
	return medium{b.Type == "image", w.Source.MediaType, w.Source.Data}, true
}

// digest names a medium in the journal.
func (m medium) digest() string {
	sum := sha256.Sum256(m.data)
	return hex.EncodeToString(sum[:16])
}

// fault says why no API takes the medium; "" if one may.
func (m medium) fault() string {
	const head = 1024 // bytes, within which a PDF says that it is one
	switch is := http.DetectContentType(m.data); {
	case m.image && is != m.mediaType:
		return fmt.Sprintf("[An image was left out: it is labelled %s, but its content is %s.]", m.mediaType, is)
	case !m.image && m.mediaType == "application/pdf" && !bytes.Contains(m.data[:min(len(m.data), head)], []byte("%PDF-")):
		return "[A document was left out: it is labelled application/pdf, but its content is not a PDF.]"
	}
	return ""
}

// pages is how many pages a PDF has, as far as can be seen without unpacking it.
func (m medium) pages() int {
	if m.image || m.mediaType != "application/pdf" {
		return 0
	}
	return len(pdfPage().FindAllIndex(m.data, -1))
}

func pdfPage() *regexp.Regexp { return regexp.MustCompile(`/Type\s*/Page[^s]`) }

// heedMedia returns blocks as an API accepts them: media have their correct types, a failed
// result has only text, and no document has more pages than a request may have.
func heedMedia(blocks []model.Block, limit int) (_ []model.Block, changed bool) {
	blocks = slices.Clone(blocks)
	renamed := nameMedia(blocks)
	changed = replaceMedia(blocks, func(m medium) string {
		if fault := m.fault(); fault != "" {
			return fault
		}
		if pages := m.pages(); limit > 0 && pages > limit {
			return fmt.Sprintf("[A PDF of %d pages was left out: the model accepts %d per request. If it is a file, use Read with pages, such as \"1-20\".]", pages, limit)
		}
		return ""
	})
	var after []model.Block
	for i, b := range blocks {
		if b.Type != model.ToolResult || !b.IsError || b.Raw != nil || !slices.ContainsFunc(b.Content, notText) {
			continue
		}
		var text []tool.Block
		for _, part := range b.Content {
			if notText(part) {
				after = append(after, model.ContentOf(part))
			} else {
				text = append(text, part)
			}
		}
		if strings.TrimSpace(tool.JoinText(text)) == "" {
			text = tool.Text("The call failed. Its output follows the results.").Content
		}
		blocks[i].Content, changed = text, true
	}
	return append(blocks, after...), changed || renamed
}

// nameMedia sets the types of images to what they are, if APIs accept that type.
func nameMedia(blocks []model.Block) (changed bool) {
	for i, b := range blocks {
		if m, ok := mediumOf(b); ok {
			if is := m.misnamed(); is != "" {
				blocks[i], changed = model.ContentOf(tool.Block{Type: tool.ImageBlock, MediaType: is, Data: m.data}), true
			}
			continue
		}
		if b.Type != model.ToolResult || b.Raw != nil {
			continue
		}
		content := slices.Clone(b.Content)
		for j, part := range content {
			if is := (medium{part.Type == tool.ImageBlock, part.MediaType, part.Data}).misnamed(); is != "" {
				content[j].MediaType, changed = is, true
				blocks[i].Content = content
			}
		}
	}
	return changed
}

// misnamed returns the real type of an image that is declared as another; "" if the type is
// right, or if APIs do not accept the real one.
func (m medium) misnamed() string {
	if !m.image {
		return ""
	}
	switch is := http.DetectContentType(m.data); is {
	case "image/gif", "image/jpeg", "image/png", "image/webp":
		if is != m.mediaType {
			return is
		}
	}
	return ""
}

func notText(b tool.Block) bool { return b.Type != tool.TextBlock }

func (m medium) kind() string {
	if m.image {
		return "image"
	}
	return "document"
}
