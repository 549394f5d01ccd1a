package read

import (
	"bytes"
	"context"
	"encoding/base64"
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

	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/workspace/blob"
	"github.com/haftdev/haft/workspace/readstate"
)

// What the API takes and what a model can see of it.
const (
	maxEdge       = 1568      // pixels; more is scaled down on arrival anyway
	maxImageBytes = 3_750_000 // 5 MB once encoded in base64
	maxImageFile  = 64 << 20  // bytes that are read at all
	maxDecoded    = 128 << 20 // bytes of the pixels of one image
	maxDecoders   = 2         // images decoded at the same time
)

// imageTypes maps the kinds that textfile.Magic names to media types.
var imageTypes = map[string]string{
	"PNG image":  "image/png",
	"JPEG image": "image/jpeg",
	"GIF image":  "image/gif",
	"WebP image": "image/webp",
}

var imageExtensions = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true}

// Dimensions are the pixels of an image in the file and as it is shown.
type Dimensions struct {
	OriginalWidth  int `json:"originalWidth"`
	OriginalHeight int `json:"originalHeight"`
	DisplayWidth   int `json:"displayWidth"`
	DisplayHeight  int `json:"displayHeight"`
}

func (r *reader) showImage(ctx context.Context, c *tool.Call, f opened, mediaType string) (Output, error) {
	raw, err := readUpTo(f, maxImageFile)
	if err != nil {
		return Output{}, err
	}
	shown, err := r.images.fit(ctx, raw, mediaType)
	if ctx.Err() != nil {
		return Output{}, ctx.Err()
	}
	if err != nil {
		return Output{}, tool.Errorf("%s cannot be shown as an image: %v. It begins with %s.", f.facts.Path, err, hexOf(f.head))
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime})
	out := Output{Type: "image", File: File{Data: base64.StdEncoding.EncodeToString(shown.data), MediaType: shown.mediaType, OriginalSize: int64(len(raw)), Dimensions: &shown.dim}}
	if d := shown.dim; d.OriginalWidth != d.DisplayWidth {
		out.File.Notes = append(out.File.Notes, fmt.Sprintf("The image has %d×%d pixels and is shown at %d×%d. Multiply coordinates by %.2f to get those of the file.",
			d.OriginalWidth, d.OriginalHeight, d.DisplayWidth, d.DisplayHeight, float64(d.OriginalWidth)/float64(d.DisplayWidth)))
	}
	return out, nil
}

// readUpTo reads a file whole, if it is not too large.
func readUpTo(f opened, most int64) ([]byte, error) {
	if f.info.Size > most {
		return nil, tool.Errorf("%s has %d bytes; more than %d are not shown. Make a smaller version with Bash first.", f.facts.Path, f.info.Size, most)
	}
	raw, err := io.ReadAll(io.NewSectionReader(f.file, 0, most))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.facts.Path, err)
	}
	return raw, nil
}

// fitted is an image as it is shown.
type fitted struct {
	data      []byte
	mediaType string
	dim       Dimensions
}

// decoders bounds how many images are in memory at the same time: each may take maxDecoded.
type decoders chan struct{}

func newDecoders() decoders { return make(decoders, maxDecoders) }

// fit returns the image as it is if the API takes it so, and scaled down otherwise. It is measured before it is decoded.
func (d decoders) fit(ctx context.Context, raw []byte, mediaType string) (fitted, error) {
	dim, _, err := measure(raw, mediaType)
	if err != nil {
		return fitted{}, err
	}
	select {
	case d <- struct{}{}:
		defer func() { <-d }()
	case <-ctx.Done():
		return fitted{}, ctx.Err()
	}
	img, err := codecs[mediaType].decode(contextReader{ctx, bytes.NewReader(raw)})
	if err != nil {
		return fitted{}, err
	}
	if max(dim.OriginalWidth, dim.OriginalHeight) <= maxEdge && len(raw) <= maxImageBytes {
		return fitted{raw, mediaType, dim}, nil
	}
	for edge := maxEdge; edge >= 200; edge = edge * 3 / 4 {
		small := scale(img, edge)
		dim.DisplayWidth, dim.DisplayHeight = small.Bounds().Dx(), small.Bounds().Dy()
		if out, ok := encode(small, mediaType, dim); ok {
			return out, nil
		}
	}
	return fitted{}, errors.New("it cannot be made small enough")
}

// measure reads the head of an image and returns its size in pixels and in bytes of memory.
func measure(raw []byte, mediaType string) (Dimensions, int64, error) {
	c, err := codecs[mediaType].config(bytes.NewReader(raw))
	if err != nil {
		return Dimensions{}, 0, err
	}
	if c.Width <= 0 || c.Height <= 0 || int64(c.Width) > maxDecoded || int64(c.Height) > maxDecoded {
		return Dimensions{}, 0, fmt.Errorf("%d×%d pixels are not an image", c.Width, c.Height)
	}
	size := int64(c.Width) * int64(c.Height) * pixelBytes(c.ColorModel)
	if size > maxDecoded {
		return Dimensions{}, 0, fmt.Errorf("its %d×%d pixels need %d bytes, more than the %d that are decoded", c.Width, c.Height, size, maxDecoded)
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
func encode(img image.Image, mediaType string, dim Dimensions) (fitted, bool) {
	var b bytes.Buffer
	if mediaType != "image/jpeg" {
		if err := png.Encode(&b, img); err == nil && b.Len() <= maxImageBytes {
			return fitted{b.Bytes(), "image/png", dim}, true
		}
	}
	for _, quality := range []int{85, 60} {
		b.Reset()
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err == nil && b.Len() <= maxImageBytes {
			return fitted{b.Bytes(), "image/jpeg", dim}, true
		}
	}
	return fitted{}, false
}
