package schema

// A Repair is one change that made an input valid.
type Repair struct {
	Path     string // the field, such as edits[1].replace_all
	From, To string // what came and what it was read as, as JSON
}

func (r Repair) String() string {
	return r.Path + ": " + r.From + " was read as " + r.To
}

// clone copies v deeply: forms of a union are tried on a copy each.
func clone(v any) any {
	switch v := v.(type) {
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = clone(v[i])
		}
		return c
	case map[string]any:
		c := make(map[string]any, len(v))
		for k := range v {
			c[k] = clone(v[k])
		}
		return c
	}
	return v
}
