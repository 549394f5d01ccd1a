// Package picture makes images fit for a model: of a kind, a size and a weight
// that providers take.
//
// A [Fitter] is safe for concurrent use; there is nothing to close.
//
// Trust: images come from files and servers of strangers. They are measured before
// they are decoded, and only a few are in memory at the same time.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

const (
	// MaxBytes is how large an image is at most: 5 MB once encoded in base64.
	MaxBytes = 3_750_000
	// MaxDecoded is how many bytes the pixels of one image may take.
	MaxDecoded = 128 << 20
)

const (
	maxEdge     = 1568 // pixels; more is scaled down on arrival anyway
	maxDecoders = 2    // images decoded at the same time
)

// Dimensions are the pixels of an image in the file and as it is shown.
type Dimensions struct {
	OriginalWidth  int `json:"originalWidth"`
	OriginalHeight int `json:"originalHeight"`
	DisplayWidth   int `json:"displayWidth"`
	DisplayHeight  int `json:"displayHeight"`
}

// A Picture is an image as it is shown.
type Picture struct {
	Data       []byte
	MediaType  string
	Dimensions Dimensions
}

// A Fitter bounds how many images are in memory at the same time: each may take [MaxDecoded].
type Fitter chan struct{}

// NewFitter returns a fitter.
func NewFitter() Fitter { return make(Fitter, maxDecoders) }

// Fit returns the image as it is if the API takes it so, and scaled down otherwise. It is measured before it is decoded.
func (d Fitter) Fit(ctx context.Context, raw []byte, mediaType string) (Picture, error) {
	dim, _, err := Measure(raw, mediaType)
	if err != nil {
		return Picture{}, err
	}
	select {
	case d <- struct{}{}:
		defer func() { <-d }()
	case <-ctx.Done():
		return Picture{}, ctx.Err()
	}
	img, err := codecs[mediaType].decode(contextReader{ctx, bytes.NewReader(raw)})
	if err != nil {
		return Picture{}, err
	}
	if max(dim.OriginalWidth, dim.OriginalHeight) <= maxEdge && len(raw) <= MaxBytes {
		return Picture{raw, mediaType, dim}, nil
	}
	for edge := maxEdge; edge >= 200; edge = edge * 3 / 4 {
		small := scale(img, edge)
		dim.DisplayWidth, dim.DisplayHeight = small.Bounds().Dx(), small.Bounds().Dy()
		if out, ok := encode(small, mediaType, dim); ok {
			return out, nil
		}
	}
	return Picture{}, errors.New("it cannot be made small enough")
}

// Measure reads the head of an image and returns its size in pixels and in bytes of memory.
func Measure(raw []byte, mediaType string) (Dimensions, int64, error) {
	codec, known := codecs[mediaType]
	if !known {
		return Dimensions{}, 0, fmt.Errorf("images of type %s are not supported", mediaType)
	}
	c, err := codec.config(bytes.NewReader(raw))
	if err != nil {
		return Dimensions{}, 0, err
	}
	if c.Width <= 0 || c.Height <= 0 || int64(c.Width) > MaxDecoded || int64(c.Height) > MaxDecoded {
		return Dimensions{}, 0, fmt.Errorf("%d×%d pixels is not a valid size", c.Width, c.Height)
	}
	size := int64(c.Width) * int64(c.Height) * pixelBytes(c.ColorModel)
	if size > MaxDecoded {
		return Dimensions{}, 0, fmt.Errorf("its %d×%d pixels need %d bytes of memory; the limit is %d", c.Width, c.Height, size, MaxDecoded)
	}
	return Dimensions{c.Width, c.Height, c.Width, c.Height}, size, nil
}

// pixelBytes says how much memory a decoded pixel takes.
func pixelBytes(m color.Model) int64 {
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	switch m {
	case color.GrayModel, color.AlphaModel:
		return 1
	case color.Gray16Model, color.Alpha16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}

// codecs are the formats the API knows. They are named here, not registered, so that importing this package costs nothing.
var codecs = map[string]struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}{
	"image/png":  {png.DecodeConfig, png.Decode},
	"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode},
	"image/gif":  {gif.DecodeConfig, gif.Decode},
	"image/webp": {webp.DecodeConfig, webp.Decode},
}

// scale shrinks an image so that its longer edge has at most edge pixels: fast to twice the size, then well.
func scale(img image.Image, edge int) image.Image {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	long := max(w, h)
	if long <= edge {
		return img
	}
	size := func(edge int) image.Rectangle {
		return image.Rect(0, 0, max(1, w*edge/long), max(1, h*edge/long))
	}
	if long > 2*edge {
		half := image.NewRGBA(size(2 * edge))
		draw.ApproxBiLinear.Scale(half, half.Bounds(), img, img.Bounds(), draw.Src, nil)
		img = half
	}
	out := image.NewRGBA(size(edge))
	draw.CatmullRom.Scale(out, out.Bounds(), img, img.Bounds(), draw.Src, nil)
	return out
}

// encode keeps photographs JPEG and everything else PNG, as long as that is small enough.
func encode(img image.Image, mediaType string, dim Dimensions) (Picture, bool) {
	var b bytes.Buffer
	if mediaType != "image/jpeg" {
		if err := png.Encode(&b, img); err == nil && b.Len() <= MaxBytes {
			return Picture{b.Bytes(), "image/png", dim}, true
		}
	}
	for _, quality := range []int{85, 60} {
		b.Reset()
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err == nil && b.Len() <= MaxBytes {
			return Picture{b.Bytes(), "image/jpeg", dim}, true
		}
	}
	return Picture{}, false
}

// contextReader ends with its context.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(b)
}
