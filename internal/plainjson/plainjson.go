// Package plainjson encodes JSON without the escapes that only HTML needs: code
// and shell commands are full of <, > and &, which people and models read better
// as they are. It is safe for concurrent use.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without these escapes.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
