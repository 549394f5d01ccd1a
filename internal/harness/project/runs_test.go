package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/world/workspace/guard"
)

// What settings, the environment and git name to be run is not written unasked. Other files of
// the same kind, and what programs find by themselves, are ordinary files.
func TestWhatWillRunIsNotWrittenUnasked(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tools/server.py": "x", "tools/other.py": "x", "mod/srv/__main__.py": "x", "uv/main.py": "x", "scripts/key.sh": "x", "scripts/line.sh": "x",
		"scripts/other.sh": "x", "package.json": "{}", "pyproject.toml": "", "bin/tool": "x", "bin/deep/data": "x", "src/a.go": "x", "clean.py": "x", "lsp.py": "x",
		".git/config": "[core]\n\thooksPath = hk\n\tattributesFile = attrs\n\tsshCommand = ./ssh/run.sh -v\n[include]\n\tpath = ../more.cfg\n[filter \"x\"]\n\tclean = python3 clean.py\n", ".git/HEAD": "ref: refs/heads/main\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	t.Setenv("PATH", os.Getenv("PATH")+":"+dir+"/bin:node_modules/.bin:")
	t.Setenv("HAFT_ENV_FILE", dir+"/env.sh")
	t.Setenv("BASH_ENV", dir+"/bashenv")
	t.Setenv("npm_package_json", dir+"/package.json")
	settings := strings.ReplaceAll(`{
		"mcpServers": {
			"named": {"command": "python3", "args": ["DIR/tools/server.py"]}, "later": {"command": "DIR/tools/later"},
			"module": {"command": "python3", "args": ["-m", "srv"], "cwd": "DIR/mod"}, "uv": {"command": "uv", "args": ["--directory", "DIR/uv", "run", "main.py"]},
			"npx": {"command": "npx", "args": ["-y", "@scope/server", "DIR/src"]}
		},
		"lspServers": {"x": {"command": "python3", "args": ["DIR/lsp.py"]}},
		"apiKeyHelper": "DIR/scripts/key.sh --print", "statusLine": {"type": "command", "command": "bash scripts/line.sh"}
	}`, "DIR", dir)
	p := open(t, settings, project.Options{Dir: dir})
	for name, want := range map[string]guard.Decision{
		"tools/server.py": guard.Ask, "tools/later": guard.Ask, "mod/srv/__main__.py": guard.Ask, "uv/main.py": guard.Ask, "lsp.py": guard.Ask,
		"scripts/key.sh": guard.Ask, "scripts/line.sh": guard.Ask, "env.sh": guard.Ask, "bashenv": guard.Ask,
		"bin/tool": guard.Ask, "bin/git": guard.Ask, "hk/pre-commit": guard.Ask, "hk/lib/x": guard.Ask, "attrs": guard.Ask, "more.cfg": guard.Ask, "ssh/run.sh": guard.Ask, "clean.py": guard.Ask,
		"tools/other.py": guard.Allow, "scripts/other.sh": guard.Allow, "package.json": guard.Allow, "pyproject.toml": guard.Allow, "src/a.go": guard.Allow, "bin/deep/data": guard.Allow,
		"new.sh": guard.Allow, "sub/env.sh": guard.Allow, "tools/new/later": guard.Allow,
	} {
		if f := p.Guard.Look(filepath.Join(dir, name)); f.Sensitive.Write != want {
			t.Errorf("%s: %s (%s), want %s", name, f.Sensitive.Write, f.Sensitive.What, want)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
