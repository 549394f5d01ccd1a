package strictapi

import (
	"bytes"
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
