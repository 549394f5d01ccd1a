package strictapi

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	_ "image/gif" // to read their sizes
	_ "image/jpeg"
	_ "image/png"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

const (
	maxImageBytes = 10 << 20 // of base64
	maxSide       = 8000
	maxSideOfMany = 2000
	manyImages    = 20
)

// A picture is an image of a request that was read.
type picture struct {
	path          path
	width, height int
}

func (c *checker) checkMedia() {
	var pictures []picture
	images, pages := 0, 0
	visit := func(p path, b map[string]any) {
		switch b["type"] {
		case "image":
			images++
			if pic, ok := c.checkImage(p.at("image", "source"), b); ok {
				pictures = append(pictures, pic)
			}
		case "document":
			pages += c.checkPDF(p.at("document", "source"), b)
		}
	}
	for _, m := range c.messages {
		for j, b := range m.blocks {
			visit(m.path.at("content", j), b)
			content, _ := b["content"].([]any)
			for k, e := range content {
				if sub, ok := e.(map[string]any); ok {
					visit(m.path.at("content", j, "tool_result", "content", k), sub)
				}
			}
		}
	}
	for _, pic := range pictures {
		switch side := max(pic.width, pic.height); {
		case side > maxSide:
			c.add("image-size", pic.path, "At least one of the image dimensions exceed max allowed size: %d pixels", maxSide)
		case side > maxSideOfMany && images > manyImages:
			c.add("image-many", pic.path, "At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", maxSideOfMany)
		}
	}
	if c.known {
		if most := c.model.maxImages(); images > most {
			c.add("image-count", path{"messages"}, "too many images: %d > %d", images, most)
		}
		if most := c.model.maxImages(); pages > most {
			c.add("pdf-pages", path{"messages"}, "A maximum of %d PDF pages may be provided.", most)
		}
	}
}

func (c *checker) checkImage(p path, b map[string]any) (picture, bool) {
	if get(b, "source", "type") != "base64" {
		return picture{}, false
	}
	p = p.at("base64")
	text := str(get(b, "source", "data"))
	if len(text) > maxImageBytes {
		c.add("image-size", p, "image exceeds 10 MB maximum: %d bytes > %d bytes", len(text), maxImageBytes)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		c.add("image-data", p.at("data"), "Could not process image: the data is not base64 or empty")
		return picture{}, false
	}
	kind, width, height := imageKind(data)
	if kind == "" {
		c.add("image-data", p.at("data"), "Could not process image")
		return picture{}, false
	}
	if want := str(get(b, "source", "media_type")); want != kind {
		c.add("image-type", p.at("data"), "Image does not match the provided media type %s (it is %s)", want, kind)
	}
	return picture{p, width, height}, true
}

// imageKind returns the media type and the size of an image, "" if it is none
// that the API reads.
func imageKind(data []byte) (kind string, width, height int) {
	if width, height, ok := webpSize(data); ok {
		return "image/webp", width, height
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "", 0, 0
	}
	return "image/" + format, cfg.Width, cfg.Height
}

func webpSize(data []byte) (width, height int, ok bool) {
	if len(data) < 30 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return 0, 0, false
	}
	switch string(data[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(data[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(data[28:]) & 0x3fff), true
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		return int(data[24]) | int(data[25])<<8 | int(data[26])<<16 + 1, int(data[27]) | int(data[28])<<8 | int(data[29])<<16 + 1, true
	}
	return 0, 0, true
}

var pdfPage = lazyregexp.New(`/Type\s*/Page[^s]`)

// checkPDF returns how many pages a document has, as far as that can be seen
// without unpacking it.
func (c *checker) checkPDF(p path, b map[string]any) int {
	if get(b, "source", "type") != "base64" || get(b, "source", "media_type") != "application/pdf" {
		return 0
	}
	data, err := base64.StdEncoding.DecodeString(str(get(b, "source", "data")))
	if err != nil || !bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")) {
		c.add("pdf-data", p.at("base64", "data"), "The PDF specified was not valid.")
		return 0
	}
	return len(pdfPage.FindAll(data, -1))
}
