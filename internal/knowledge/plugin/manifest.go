package plugin

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/haftdev/haft/settings"
)

// A manifest is plugin.json. What it does not name is in the usual places.
type manifest struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Commands    names           `json:"commands"`
	Agents      names           `json:"agents"`
	Skills      names           `json:"skills"`
	Styles      names           `json:"outputStyles"`
	Hooks       json.RawMessage `json:"hooks"`
	Servers     json.RawMessage `json:"mcpServers"`
	// Strict is false in the entry of a marketplace that says all there is of a plugin:
	// what it lists of a kind is not searched for.
	Strict *bool `json:"strict"`
}

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

// servers returns the MCP servers as settings files. Their names get the plugin's
// before them, so that two plugins may have a server of one name.
func (r *reader) servers(m manifest) []*settings.File {
	if r.NoServers {
		return nil
	}
	return r.settings("mcpServers", ".mcp.json", m.Servers, func(text json.RawMessage) json.RawMessage {
		var servers, named map[string]json.RawMessage
		if json.Unmarshal(member(text, "mcpServers"), &servers) != nil {
			return text // settings says what is wrong with it
		}
		named = map[string]json.RawMessage{}
		for name, server := range servers {
			named["plugin:"+m.Name+":"+name] = server
		}
		out, err := json.Marshal(named)
		if err != nil {
			return text
		}
		return out
	})
}

// member returns a member of an object, or the object itself if it has none of the
// name: both are written.
func member(text json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) == nil && object[name] != nil {
		return object[name]
	}
	return text
}

// settings reads what stands under a key in settings from the usual file, from
// files that the manifest names, or from the manifest itself. Nothing else of a
// file is taken: a plugin sets no rules.
func (r *reader) settings(key, usual string, said json.RawMessage, pick func(json.RawMessage) json.RawMessage) []*settings.File {
	files := []string{usual}
	var list names
	var found []*settings.File
	switch {
	case said == nil:
	case json.Unmarshal(said, &list) == nil:
		for _, name := range r.inner(key, list) {
			if name != usual {
				files = append(files, name)
			}
		}
	default:
		found = r.add(found, key, manifestName, pick(said))
	}
	for _, name := range files {
		if text := r.read(name); text != "" {
			if !json.Valid([]byte(text)) {
				r.report(name, "skipped: it is not valid JSON")
				continue
			}
			found = r.add(found, key, name, pick(json.RawMessage(text)))
		}
	}
	return found
}

// add makes a settings file that says one thing.
func (r *reader) add(files []*settings.File, key, name string, value json.RawMessage) []*settings.File {
	text := fmt.Sprintf("{%q: %s}", key, r.expand(string(value)))
	f, err := settings.Parse(r.Source, r.files.Path(r.inside+"/"+name), []byte(text))
	if err != nil {
		r.report(name, "skipped: %v", err)
		return files
	}
	f.Shared = true
	return append(files, f)
}

// expand fills in where the plugin is, inside of JSON strings.
func (r *reader) expand(text string) string {
	quoted, err := json.Marshal(r.Path)
	if err != nil {
		return text
	}
	dir := strings.Trim(string(quoted), `"`)
	return strings.NewReplacer("${CLAUDE_PLUGIN_ROOT}", dir, "${HAFT_PLUGIN_ROOT}", dir).Replace(text)
}
