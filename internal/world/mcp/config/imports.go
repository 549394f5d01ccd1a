package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// Import reads the servers of another tool's file, recognised by its name: Claude
// Desktop and Claude Code, Cursor, VS Code, Windsurf, codex, gemini-cli,
// opencode. Variables keep their meaning in haft's spelling.
func Import(path string, data []byte) ([]Entry, error) {
	read := importPlain
	base := filepath.Base(path)
	switch dir := filepath.Base(filepath.Dir(path)); {
	case strings.HasSuffix(base, ".toml"):
		read = importCodex
	case strings.HasPrefix(base, "opencode.json"):
		read = importOpencode
	case dir == ".vscode" || dir == "User":
		read = importVSCode
	case dir == ".gemini":
		read = importGemini
	}
	entries, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", path, err)
	}
	for i := range entries {
		entries[i].Origin = path
	}
	return entries, nil
}

// ImportLocal reads the servers that Claude Code keeps in its own file for the user in
// one project, the folder dir.
func ImportLocal(path string, data []byte, dir string) ([]Entry, error) {
	var file struct {
		Projects map[string]json.RawMessage `json:"projects"`
	}
	if err := unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("import %s: %w", path, err)
	}
	project := file.Projects[dir]
	if project == nil {
		return nil, nil
	}
	return Import(path, project)
}

// An entry is what all the tools' entries are translated to.
type entry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Helper  string            `json:"headersHelper,omitempty"`

	Disabled bool     `json:"disabled,omitempty"`
	Trusted  bool     `json:"trust,omitempty"`
	Include  []string `json:"includeTools,omitempty"`
	Exclude  []string `json:"excludeTools,omitempty"`
	Start    int64    `json:"startTimeout,omitempty"` // milliseconds
	Call     int64    `json:"timeout,omitempty"`
}

func (e entry) named(name string) (Entry, error) {
	raw, err := json.Marshal(e)
	return Entry{Name: name, Raw: raw}, err
}

// each translates the members of an object.
func each(servers ordered, translate func(raw json.RawMessage) (entry, error)) ([]Entry, error) {
	var all []Entry
	for _, m := range servers {
		e, err := translate(m.value)
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", m.name, err)
		}
		named, err := e.named(m.name)
		if err != nil {
			return nil, err
		}
		all = append(all, named)
	}
	return all, nil
}

// importPlain reads mcpServers as Claude and Cursor write them: haft's own form
// but for the spelling of variables.
func importPlain(data []byte) ([]Entry, error) {
	var file struct {
		Servers ordered `json:"mcpServers"`
	}
	if err := unmarshal(data, &file); err != nil {
		return nil, err
	}
	var all []Entry
	for _, m := range file.Servers {
		var value any
		if err := json.Unmarshal(m.value, &value); err != nil {
			return nil, err
		}
		raw, err := json.Marshal(respell(value, envColon))
		if err != nil {
			return nil, err
		}
		all = append(all, Entry{Name: m.name, Raw: raw})
	}
	return all, nil
}

// importVSCode reads mcp.json of VS Code. What it asks the user for becomes a
// variable of that name.
func importVSCode(data []byte) ([]Entry, error) {
	var file struct {
		Servers ordered `json:"servers"`
		Nested  *struct {
			Servers ordered `json:"servers"`
		} `json:"mcp"`
	}
	if err := unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Nested != nil {
		file.Servers = append(file.Servers, file.Nested.Servers...)
	}
	return each(file.Servers, func(raw json.RawMessage) (e entry, err error) {
		err = unmarshalRespelt(raw, &e, func(s string) string {
			s = strings.NewReplacer("${workspaceFolder}", ".", "${userHome}", "${HOME}").Replace(envColon(s))
			return inputs.ReplaceAllStringFunc(s, func(m string) string {
				return "${" + variable(m[len("${input:"):len(m)-1]) + "}"
			})
		})
		return e, err
	})
}

// importGemini reads settings.json of gemini-cli.
func importGemini(data []byte) ([]Entry, error) {
	var file struct {
		Servers ordered `json:"mcpServers"`
	}
	if err := unmarshal(data, &file); err != nil {
		return nil, err
	}
	return each(file.Servers, func(raw json.RawMessage) (entry, error) {
		var from struct {
			entry
			HTTPURL string `json:"httpUrl"`
		}
		err := unmarshalRespelt(raw, &from, func(s string) string { return bare.ReplaceAllString(s, "$${$1}") })
		e := from.entry
		switch {
		case from.HTTPURL != "":
			e.Type, e.URL = "http", from.HTTPURL
		case e.URL != "" && e.Type == "":
			e.Type = "sse"
		}
		return e, err
	})
}

// importOpencode reads opencode.json.
func importOpencode(data []byte) ([]Entry, error) {
	var file struct {
		Servers ordered `json:"mcp"`
	}
	if err := unmarshal(data, &file); err != nil {
		return nil, err
	}
	return each(file.Servers, func(raw json.RawMessage) (entry, error) {
		var from struct {
			Command     []string          `json:"command"`
			Environment map[string]string `json:"environment"`
			URL         string            `json:"url"`
			Headers     map[string]string `json:"headers"`
			Enabled     *bool             `json:"enabled"`
			Timeout     int64             `json:"timeout"`
		}
		err := unmarshalRespelt(raw, &from, func(s string) string { return braced.ReplaceAllString(s, "$${$1}") })
		e := entry{Env: from.Environment, URL: from.URL, Headers: from.Headers, Disabled: from.Enabled != nil && !*from.Enabled, Start: from.Timeout}
		if len(from.Command) > 0 {
			e.Command, e.Args = from.Command[0], from.Command[1:]
		}
		if e.URL != "" {
			e.Type = "http"
		}
		return e, err
	})
}

// importCodex reads config.toml of codex.
func importCodex(data []byte) ([]Entry, error) {
	var file struct {
		Servers map[string]struct {
			Command       string            `toml:"command"`
			Args          []string          `toml:"args"`
			Env           map[string]string `toml:"env"`
			Vars          []string          `toml:"env_vars"`
			Dir           string            `toml:"cwd"`
			URL           string            `toml:"url"`
			Headers       map[string]string `toml:"http_headers"`
			HeaderVars    map[string]string `toml:"env_http_headers"`
			HeadersHelper string            `toml:"http_headers_helper"`
			TokenVar      string            `toml:"bearer_token_env_var"`
			Enabled       *bool             `toml:"enabled"`
			EnabledTools  []string          `toml:"enabled_tools"`
			DisabledTools []string          `toml:"disabled_tools"`
			StartTimeout  float64           `toml:"startup_timeout_sec"`
			CallTimeout   float64           `toml:"tool_timeout_sec"`
		} `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var all []Entry
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		from := file.Servers[name]
		e := entry{
			Command: from.Command, Args: from.Args, Env: from.Env, Dir: from.Dir, URL: from.URL,
			Headers: from.Headers, Helper: from.HeadersHelper, Include: from.EnabledTools, Exclude: from.DisabledTools,
			Disabled: from.Enabled != nil && !*from.Enabled, Start: seconds(from.StartTimeout), Call: seconds(from.CallTimeout),
		}
		for _, name := range from.Vars {
			e.setEnv(name, "${"+name+"}")
		}
		for header, name := range from.HeaderVars {
			e.setHeader(header, "${"+name+"}")
		}
		if from.TokenVar != "" {
			e.setHeader("Authorization", "Bearer ${"+from.TokenVar+"}")
		}
		if e.URL != "" {
			e.Type = "http"
		}
		named, err := e.named(name)
		if err != nil {
			return nil, err
		}
		all = append(all, named)
	}
	return all, nil
}

func (e *entry) setEnv(name, value string) {
	if e.Env == nil {
		e.Env = make(map[string]string)
	}
	e.Env[name] = value
}

func (e *entry) setHeader(name, value string) {
	if e.Headers == nil {
		e.Headers = make(map[string]string)
	}
	e.Headers[name] = value
}

func seconds(n float64) int64 { return int64(n * float64(time.Second/time.Millisecond)) }

var (
	colon  = lazyregexp.New(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	inputs = lazyregexp.New(`\$\{input:[^}]+\}`)
	bare   = lazyregexp.New(`\$([A-Za-z_][A-Za-z0-9_]*)`)
	braced = lazyregexp.New(`\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	odd    = lazyregexp.New(`[^A-Za-z0-9_]+`)
)

// envColon respells ${env:NAME}.
func envColon(s string) string { return colon.ReplaceAllString(s, "$${$1}") }

// variable makes a variable's name of any name.
func variable(name string) string { return strings.ToUpper(odd.ReplaceAllString(name, "_")) }

// respell changes every text in a JSON value.
func respell(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = respell(v[i], change)
		}
	case map[string]any:
		for name := range v {
			v[name] = respell(v[name], change)
		}
	}
	return value
}

func unmarshalRespelt(raw json.RawMessage, v any, change func(string) string) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	changed, err := json.Marshal(respell(value, change))
	if err != nil {
		return err
	}
	return json.Unmarshal(changed, v)
}
