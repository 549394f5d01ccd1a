package read

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/haftdev/haft/internal/tools/picture"
)

// imageShop shows the images of one notebook, as long as they are few and small. What was tried counts, shown or not.
type imageShop struct {
	picture.Fitter
	images  int   // that may still be tried
	pixels  int64 // bytes that they may still take
	refused int   // images that were not shown
}

// take reports whether there is room for an image, and uses it up.
func (s *imageShop) take(raw []byte, mediaType string) bool {
	_, size, err := picture.Measure(raw, mediaType)
	if err != nil || s.images == 0 || size > s.pixels {
		return false
	}
	s.images--
	s.pixels -= size
	return true
}

func (s *imageShop) show(ctx context.Context, encoded, mediaType string) *cellImage {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(encoded), ""))
	if err == nil && s.take(raw, mediaType) {
		if shown, err := s.Fit(ctx, raw, mediaType); err == nil {
			return &cellImage{base64.StdEncoding.EncodeToString(shown.Data), shown.MediaType}
		}
	}
	s.refused++
	return nil
}
