package session

import (
	"errors"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// errOther says that there is more than is read here.
var errOther = errors.New("a part that is read elsewhere")

// readText reads a string; null changes nothing.
func readText(to *string, raw []byte) (err error) {
	if string(raw) != "null" {
		*to, err = plainjson.Text(raw)
	}
	return err
}
