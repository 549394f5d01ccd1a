package session

import (
	"encoding/json"
	"strconv"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// An object is the JSON of one that is being put together.
type object []byte

func (o *object) name(name string) {
	if (*o)[len(*o)-1] != '{' {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), name...), `":`...)
}

// string adds a member unless it is empty.
func (o *object) string(name, value string) {
	if value != "" {
		o.name(name)
		*o = plainjson.AppendString(*o, value)
	}
}

// number adds a member unless it is 0.
func (o *object) number(name string, value int) {
	if value != 0 {
		o.name(name)
		*o = strconv.AppendInt(*o, int64(value), 10)
	}
}

// truth adds a member if it is true.
func (o *object) truth(name string, value bool) {
	if value {
		o.raw(name, json.RawMessage("true"))
	}
}

func (o *object) raw(name string, value json.RawMessage) {
	o.name(name)
	*o = append(*o, value...)
}
