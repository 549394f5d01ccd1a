package plugin

import "encoding/json"

// names are one path or several.
type names []string

// UnmarshalJSON reads a string or a list of them.
func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}
