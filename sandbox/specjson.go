package sandbox

import (
	"encoding/json"

	"github.com/haftdev/haft/internal/rawname"
)

// MarshalJSON encodes a Spec with paths as bytes, because they need not be valid UTF-8.
func (s Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	p := plain(s)
	for _, list := range []*[]string{&p.Write, &p.Read, &p.Scratch, &p.Protect, &p.Hide, &p.Deny, &p.Pin} {
		*list = rawname.EncodeAll(*list)
	}
	p.Layers = nil
	for _, l := range s.Layers {
		p.Layers = append(p.Layers, Layer{rawname.Encode(l.Dir), rawname.Encode(l.Upper), rawname.Encode(l.Work)})
	}
	return json.Marshal(p)
}

// UnmarshalJSON decodes what MarshalJSON has encoded.
func (s *Spec) UnmarshalJSON(raw []byte) error {
	type plain Spec
	var p plain
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	for _, list := range []*[]string{&p.Write, &p.Read, &p.Scratch, &p.Protect, &p.Hide, &p.Deny, &p.Pin} {
		*list = rawname.DecodeAll(*list)
	}
	for i, l := range p.Layers {
		p.Layers[i] = Layer{rawname.Decode(l.Dir), rawname.Decode(l.Upper), rawname.Decode(l.Work)}
	}
	*s = Spec(p)
	return nil
}
