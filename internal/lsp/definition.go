package lsp

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Definition is a kind of server: what it understands and how it is started.
type Definition struct {
	Name      string
	Programs  []string          // the first that is installed
	Args      []string          // of the program
	Languages map[string]string // the language's name in the protocol by the ending of file names, with its dot
	Install   string            // what a user does who has none
	Env       []string          // beside what commands have, as NAME=value
	// Markers are files that a project of its own has: the server is started in the
	// outermost folder that has one, if it has Markers, and else in the root.
	Markers []string
	// Options are sent with the first message, and Settings when the server asks.
	Options  json.RawMessage
	Settings json.RawMessage
	// Startup is how long it may take to start; zero means 45 seconds.
	Startup time.Duration
}

// known are the servers that need no settings.
func known() []Definition {
	script := map[string]string{".ts": "typescript", ".tsx": "typescriptreact", ".mts": "typescript", ".cts": "typescript", ".js": "javascript", ".jsx": "javascriptreact", ".mjs": "javascript", ".cjs": "javascript"}
	c := map[string]string{".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".m": "objective-c", ".mm": "objective-cpp"}
	return []Definition{
		{
			Name: "gopls", Programs: []string{"gopls"}, Languages: map[string]string{".go": "go", ".mod": "go.mod", ".work": "go.work"},
			Install: "go install golang.org/x/tools/gopls@latest",
			Options: json.RawMessage(`{"pullDiagnostics":true}`),
		},
		{
			Name: "typescript-language-server", Programs: []string{"typescript-language-server"}, Args: []string{"--stdio"}, Languages: script,
			Install: "npm install -g typescript-language-server typescript",
			// The quick half of it answers before it has read the project, and wrong.
			Options: json.RawMessage(`{"tsserver":{"useSyntaxServer":"never"}}`),
		},
		{
			Name: "pyright", Programs: []string{"pyright-langserver", "basedpyright-langserver"}, Args: []string{"--stdio"}, Languages: map[string]string{".py": "python", ".pyi": "python"},
			Install: "npm install -g pyright, or pip install basedpyright",
		},
		{
			Name: "rust-analyzer", Programs: []string{"rust-analyzer"}, Languages: map[string]string{".rs": "rust"}, Markers: []string{"Cargo.toml"},
			Install: "rustup component add rust-analyzer",
			// Nothing of the project is run: no build scripts, no macros of other crates, no cargo check.
			Options: json.RawMessage(`{"checkOnSave":false,"cargo":{"buildScripts":{"enable":false}},"procMacro":{"enable":false}}`),
		},
		{
			Name: "clangd", Programs: []string{"clangd"}, Args: []string{"--log=error"}, Languages: c,
			Install: "the system's package manager (apt install clangd, brew install llvm)",
		},
	}
}

// language is the name of a file's language, if the server understands it.
func (d *Definition) language(path string) (string, bool) {
	name, ok := d.Languages[strings.ToLower(filepath.Ext(path))]
	return name, ok
}

// endings lists which files some servers understand.
func endings(list []Definition) string {
	all := map[string]bool{}
	for _, d := range list {
		for ending := range d.Languages {
			all[ending] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " ")
}
