package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/haftdev/haft/internal/plainjson"
)

// Names maps properties that the model knows under other names to the names of the schema's
// owner. Providers accept only letters, digits, _, . and -, at most 64 of them.
type Names map[string]string

// Back returns an input with the names of the schema's owner.
func (n Names) Back(input json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if len(n) == 0 || json.Unmarshal(input, &members) != nil {
		return input
	}
	changed := false
	for ours, theirs := range n {
		if value, ok := members[ours]; ok {
			delete(members, ours)
			members[theirs], changed = value, true
		}
	}
	if !changed {
		return input
	}
	raw, err := plainjson.Marshal(members)
	if err != nil {
		return input
	}
	return raw
}

const maxName = 64

func portableName(name string) bool {
	return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name)
}

// rename gives the root's properties names that providers take.
func (r *repairer) rename(root map[string]any) Names {
	properties, _ := root["properties"].(map[string]any)
	var names Names
	required := listed(root["required"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if portableName(name) {
			continue
		}
		ours := newName(name, func(n string) bool { _, taken := properties[n]; return taken || slices.Contains(required, n) })
		property := properties[name]
		delete(properties, name)
		r.set(properties, ours, described(property, name))
		if names == nil {
			names = Names{}
		}
		names[ours] = name
	}
	if names == nil {
		return nil
	}
	for i, name := range required {
		for ours, theirs := range names {
			if theirs == name {
				required[i] = ours
			}
		}
	}
	if len(required) > 0 {
		root["required"] = required
	}
	r.drop(root, "dependentRequired", "dependentSchemas", "dependencies", "if", "then", "else", "not") // they are under the old names
	return names
}

// newName is a name that providers take, for one that they do not.
func newName(name string, taken func(string) bool) string {
	ours := regexp.MustCompile(`[^a-zA-Z0-9_.-]+`).ReplaceAllString(name, "_")
	ours = regexp.MustCompile(`^_+|_+$`).ReplaceAllString(ours, "")
	if ours != "" && len(ours) <= maxName && !taken(ours) {
		return ours
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 8
	return ours[:min(len(ours), maxName-digits-1)] + "_" + hex.EncodeToString(sum[:digits/2])
}

// described says in a property's description what its owner calls it.
func described(property any, name string) any {
	m, ok := property.(map[string]any)
	if !ok {
		return property
	}
	m = maps.Clone(m)
	text, _ := m["description"].(string)
	if text != "" {
		text += " "
	}
	if shown := []rune(name); len(shown) > maxName {
		name = string(shown[:maxName]) + "…"
	}
	m["description"] = text + "(named " + name + " by its server)"
	return m
}
