package read

import "github.com/haftdev/haft/internal/tools/picture"

// imageTypes maps the kinds that textfile.Magic names to media types.
var imageTypes = map[string]string{
	"PNG image":  "image/png",
	"JPEG image": "image/jpeg",
	"GIF image":  "image/gif",
	"WebP image": "image/webp",
}

var imageExtensions = map[string]bool{".png": true, ".jpg": true, ".jpeg": true, ".gif": true, ".webp": true}

// dimensions are the pixels of an image in the file and as it is shown.
type dimensions = picture.Dimensions
