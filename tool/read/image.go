package read

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/haftdev/haft/internal/workspace/blob"
	"github.com/haftdev/haft/internal/workspace/readstate"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/internal/picture"
)

const maxImageFile = 64 << 20 // bytes that are read at all

// imageTypes maps the kinds that textfile.Magic names to media types.
var imageTypes = map[string]string{
	"PNG image":  "image/png",
	"JPEG image": "image/jpeg",
	"GIF image":  "image/gif",
	"WebP image": "image/webp",
}

var imageExtensions = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true}

// Dimensions are the pixels of an image in the file and as it is shown.
type Dimensions = picture.Dimensions

func (r *reader) showImage(ctx context.Context, c *tool.Call, f opened, mediaType string) (Output, error) {
	raw, err := readUpTo(f, maxImageFile)
	if err != nil {
		return Output{}, err
	}
	shown, err := r.images.Fit(ctx, raw, mediaType)
	if ctx.Err() != nil {
		return Output{}, ctx.Err()
	}
	if err != nil {
		return Output{}, tool.Errorf("%s cannot be shown as an image: %v. It starts with %s.", f.facts.Path, err, hexOf(f.head))
	}
	r.ws.Saw(c.Agent, readstate.Entry{Path: f.facts.Real, Hash: blob.Digest(raw), Size: f.info.Size, ModTime: f.info.ModTime})
	out := Output{Type: "image", File: File{Data: base64.StdEncoding.EncodeToString(shown.Data), MediaType: shown.MediaType, OriginalSize: int64(len(raw)), Dimensions: &shown.Dimensions}}
	if d := shown.Dimensions; d.OriginalWidth != d.DisplayWidth {
		out.File.Notes = append(out.File.Notes, fmt.Sprintf("The image has %d×%d pixels and is shown at %d×%d. Multiply coordinates by %.2f to get those of the file.",
			d.OriginalWidth, d.OriginalHeight, d.DisplayWidth, d.DisplayHeight, float64(d.OriginalWidth)/float64(d.DisplayWidth)))
	}
	return out, nil
}

// readUpTo reads a file whole, if it is not too large.
func readUpTo(f opened, most int64) ([]byte, error) {
	if f.info.Size > most {
		return nil, tool.Errorf("%s has %d bytes; the limit is %d. Make a smaller version with Bash first.", f.facts.Path, f.info.Size, most)
	}
	raw, err := io.ReadAll(io.NewSectionReader(f.file, 0, most))
	if err != nil {
		return nil, fmt.Errorf("could not read %s: %w", f.facts.Path, err)
	}
	return raw, nil
}
