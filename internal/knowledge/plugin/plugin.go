// Package plugin reads folders that bring commands, agents, skills, hooks and MCP
// servers together, described by .claude-plugin/plugin.json.
//
//	plugins, problems := plugin.Load(plugin.Find(home, project))
//	for _, p := range plugins {
//		places = append(places, p.Place)           // for skills, commands, agents
//		settings = settings.With(p.Settings...)    // for hooks and servers
//	}
//
// A plugin has no way of its own to anything: its Markdown counts by way of a
// place, its hooks and servers by way of settings files of its source. A project's
// plugin is thus held back, listed and trusted item by item like everything else
// that a project brings.
//
// Trust: it reads below the plugin's folder, through no link that leaves it, and
// runs nothing. Of a settings file it takes hooks or servers and nothing else.
//
// Values are safe for concurrent use; there is nothing to close.
package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/knowledge"
	"github.com/haftdev/haft/internal/knowledge/shelf"
)

// A Plugin is what one folder brings.
type Plugin struct {
	Name        string          `json:"name"`
	Version     string          `json:"version,omitempty"`
	Description string          `json:"description,omitempty"`
	Dir         string          `json:"path"`
	Source      settings.Source `json:"source"`
	// ID is NAME@MARKETPLACE of one that was installed.
	ID string `json:"id,omitempty"`
	// Place is where its skills, commands and agents are.
	Place knowledge.Place `json:"-"`
	// Settings are its hooks and servers.
	Settings []*settings.File `json:"-"`
}

// A Dir is a folder that may be a plugin.
type Dir struct {
	Path string
	// Root is the folder that no link may lead out of; "" means Path.
	Root string
	// Source is whose it is.
	Source settings.Source
	// ID is what settings call it, such as review@market; "" if it has no marketplace.
	ID string
	// Name is what a marketplace calls it, whatever its manifest says; "" means that the
	// manifest, or else the folder, names it.
	Name string
	// NoServers leaves its MCP servers out.
	NoServers bool
	// Entry is the manifest if the folder has none: a marketplace's entry, or nil.
	Entry json.RawMessage
}

// maxPlugins bounds how many folders are looked at in one place.
const maxPlugins = 200

// Find returns the folders in the user's and the project's plugins folders,
// which are .haft/plugins. An empty path has none.
func Find(home, project string) []Dir {
	var dirs []Dir
	if home != "" {
		base := filepath.Join(home, ".haft", "plugins")
		names, _ := shelf.Open(base).Folders(".", maxPlugins)
		for _, name := range names {
			if strings.HasPrefix(name, ".") {
				continue // it is being installed or removed
			}
			d := Dir{Path: filepath.Join(base, name), Source: settings.User}
			if r, ok := ReadRecord(d.Path); ok {
				d.ID, d.Name = r.ID(), r.Plugin
			}
			dirs = append(dirs, d)
		}
	}
	if project == "" || project == home {
		return dirs
	}
	s, err := shelf.Confine(project)
	if err != nil {
		return dirs
	}
	defer s.Close()
	names, _ := s.Folders(".haft/plugins", maxPlugins)
	for _, name := range names {
		dirs = append(dirs, Dir{Path: s.Path(name), Root: project, Source: settings.Project})
	}
	return dirs
}

// Load reads the plugins, the first of one name before the others.
func Load(dirs []Dir) ([]Plugin, []knowledge.Problem) {
	var plugins []Plugin
	var problems []knowledge.Problem
	for _, d := range dirs {
		p, wrong := load(d)
		problems = append(problems, wrong...)
		if p == nil {
			continue
		}
		if i := slices.IndexFunc(plugins, func(o Plugin) bool { return o.Name == p.Name }); i >= 0 {
			problems = append(problems, knowledge.Problem{Path: d.Path, Text: fmt.Sprintf("skipped: the plugin in %s has the same name", plugins[i].Dir)})
			continue
		}
		plugins = append(plugins, *p)
	}
	return plugins, problems
}

// load reads one plugin; nil means that there is none, or that it cannot be used.
func load(d Dir) (*Plugin, []knowledge.Problem) {
	if d.Root == "" {
		d.Root = d.Path
	}
	inside, err := filepath.Rel(d.Root, d.Path)
	if err != nil {
		return nil, []knowledge.Problem{{Path: d.Path, Text: fmt.Sprintf("skipped: %v", err)}}
	}
	files, err := shelf.Confine(d.Root)
	if err != nil {
		return nil, []knowledge.Problem{{Path: d.Path, Text: fmt.Sprintf("skipped: %v", err)}}
	}
	defer files.Close()
	r := &reader{Dir: d, files: files, inside: filepath.ToSlash(inside)}
	return r.plugin(), r.problems
}

// A reader reads one plugin.
type reader struct {
	Dir
	files    *shelf.Shelf
	inside   string // the plugin's folder on the shelf
	problems []knowledge.Problem
}

func (r *reader) report(name, format string, args ...any) {
	r.problems = append(r.problems, knowledge.Problem{Path: filepath.Join(r.Path, filepath.FromSlash(name)), Text: fmt.Sprintf(format, args...)})
}

// maxFile bounds what is read of a JSON file, in bytes.
const maxFile = 1 << 20

// read returns the text of a file, "" if it is not there.
func (r *reader) read(name string) string {
	file, err := r.files.Read(path.Join(r.inside, name), maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err == nil && file.Cut:
		err = fmt.Errorf("it has %d bytes; the limit is %d", file.Size, maxFile)
		fallthrough
	case err != nil:
		r.report(name, "it could not be read: %v", err)
		return ""
	}
	return file.Text
}

const manifestName = ".claude-plugin/plugin.json"

func (r *reader) plugin() *Plugin {
	m, ok := r.manifest()
	if !ok {
		return nil
	}
	if m.Name != "" && r.Name != "" && m.Name != r.Name && r.ID == "" { // who has installed it knows
		r.report(manifestName, "it calls itself %s; the marketplace's name %s is used", m.Name, r.Name)
	}
	m.Name = cmp.Or(r.Name, m.Name)
	if m.Name == "" {
		m.Name = filepath.Base(r.Path)
	}
	if !knowledge.ValidName(m.Name) {
		r.report(manifestName, "skipped: %q is not a valid plugin name; use letters, digits, dashes and underscores", m.Name)
		return nil
	}
	p := &Plugin{
		Name: m.Name, Version: m.Version, Description: m.Description, Dir: r.Path, Source: r.Source, ID: r.ID,
		Place: knowledge.Place{
			Dir: r.Path, Root: r.Root, Source: r.Source, Plugin: m.Name,
			Extra: map[knowledge.Kind][]string{
				knowledge.Skill:   r.inner("skills", m.Skills),
				knowledge.Command: r.inner("commands", m.Commands),
				knowledge.Agent:   r.inner("agents", m.Agents),
				knowledge.Style:   r.inner("output-styles", m.Styles),
			},
		},
		Settings: slices.Concat(r.hooks(m), r.servers(m), r.languages(m)),
	}
	if r.files.Has(r.inside + "/workflows") {
		r.report("workflows", "haft does not run workflows: they are ignored")
	}
	if m.Strict != nil && !*m.Strict {
		p.Place.Listed = map[knowledge.Kind]bool{
			knowledge.Skill: m.Skills != nil, knowledge.Command: m.Commands != nil, knowledge.Agent: m.Agents != nil, knowledge.Style: m.Styles != nil,
		}
	}
	return p
}

// hooks returns the hooks as settings files: the usual file, and what the manifest
// names or holds.
func (r *reader) hooks(m manifest) []*settings.File {
	return r.settings("hooks", "hooks/hooks.json", m.Hooks, func(text json.RawMessage) json.RawMessage {
		return member(text, "hooks")
	})
}

// manifest reads plugin.json. A folder without one is a plugin if it has what a
// plugin brings.
func (r *reader) manifest() (m manifest, ok bool) {
	text := r.read(manifestName)
	if text == "" && r.Entry != nil {
		text = string(r.Entry)
	}
	if text == "" {
		for _, name := range []string{"skills", "commands", "agents", "output-styles", "hooks/hooks.json", ".mcp.json", ".lsp.json"} {
			if r.files.Has(r.inside + "/" + name) {
				return m, r.problems == nil
			}
		}
		return m, false
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
			err = fmt.Errorf("%s cannot be a %s", wrong.Field, wrong.Value)
		}
		r.report(manifestName, "the plugin is skipped: its manifest is invalid: %v", err)
		return m, false
	}
	return m, true
}

// inner returns the names that stay inside the plugin, without those of the usual
// folder.
func (r *reader) inner(key string, names []string) []string {
	var kept []string
	for _, name := range names {
		clean := path.Clean(strings.TrimPrefix(name, "./"))
		switch {
		case !filepath.IsLocal(filepath.FromSlash(clean)):
			r.report(manifestName, "%q under %s is skipped: it is outside the plugin", name, key)
		case clean != key:
			kept = append(kept, clean)
		}
	}
	return kept
}

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
	Languages   json.RawMessage `json:"lspServers"`
	// Strict is false in the entry of a marketplace that says all there is of a plugin:
	// what it lists of a kind is not searched for.
	Strict *bool `json:"strict"`
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

// languages returns the language servers as settings files. One that cannot be started is left
// out: it must not keep a session from starting.
func (r *reader) languages(m manifest) []*settings.File {
	return r.settings("lspServers", ".lsp.json", m.Languages, func(text json.RawMessage) json.RawMessage {
		var servers map[string]json.RawMessage
		if json.Unmarshal(member(text, "lspServers"), &servers) != nil {
			return text
		}
		named := map[string]json.RawMessage{}
		for name, server := range servers {
			var said struct {
				Command   string            `json:"command"`
				Languages map[string]string `json:"extensionToLanguage"`
				Transport string            `json:"transport"`
			}
			switch err := json.Unmarshal(server, &said); {
			case err != nil || said.Command == "" || len(said.Languages) == 0:
				r.report(".lsp.json", "the language server %s is skipped: it needs a command and extensionToLanguage", name)
			case said.Transport != "" && said.Transport != "stdio":
				r.report(".lsp.json", "the language server %s is skipped: haft talks to such servers over stdio only", name)
			default:
				named["plugin:"+m.Name+":"+name] = server
			}
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
