package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tailscale/hujson"
)

// unmarshal reads JSON that may have comments and trailing commas.
func unmarshal(data []byte, v any) error {
	plain, err := hujson.Standardize(bytes.TrimPrefix(bytes.Clone(data), []byte("\ufeff")))
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, v)
}

// ordered is a JSON object whose members keep their order.
type ordered []member

type member struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON reads an object.
func (o *ordered) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("expected an object, not %s", data[:min(len(data), 20)])
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}
