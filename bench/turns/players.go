package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// A player is a program that plays turns.
type player struct {
	name, path string
	args       []string
	// env is added to a plain environment; prepare writes what it wants in its home.
	env     []string
	prepare func(home, url string) error
	// read and bash are the calls that it understands, as a name and the name of
	// the one parameter that matters; "" if it has no such tool.
	read, bash [2]string
	mcp        bool // it takes servers by --mcp-config
	resumes    bool // it continues its last conversation by --continue
}

var claudeTools = player{read: [2]string{"Read", "file_path"}, bash: [2]string{"Bash", "command"}}

var headlessFlags = []string{"-p", "hello", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}

func peers(modules string) ([]*player, error) {
	players := []*player{
		{
			name: "claude", path: "@anthropic-ai/claude-agent-sdk-linux-x64/claude", args: headlessFlags, read: claudeTools.read, bash: claudeTools.bash, mcp: true, resumes: true,
			env: []string{"DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1"},
		},
		{
			name: "opencode", path: "opencode-linux-x64/bin/opencode", args: []string{"run", "hello"}, prepare: opencodeHome,
			env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1"}, read: [2]string{"read", "filePath"}, bash: [2]string{"bash", "command"},
		},
		{
			name: "codex", path: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex", prepare: codexHome,
			args: []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "hello"},
			env:  []string{"SCRIPTED_KEY=none"}, bash: [2]string{"exec_command", "cmd"},
		},
	}
	for _, a := range players {
		a.path = filepath.Join(modules, filepath.FromSlash(a.path))
		if _, err := os.Stat(a.path); err != nil {
			return nil, errors.Join(fmt.Errorf("npm did not bring %s", a.name), err)
		}
	}
	return players, nil
}

// opencodeHome sets the scripted model up for opencode.
func opencodeHome(home, url string) error {
	type in = map[string]any
	model := in{"name": "m", "tool_call": true, "limit": in{"context": 200000, "output": 8000}}
	return writeFile(filepath.Join(home, ".config", "opencode", "opencode.json"), in{
		"autoupdate": false, "share": "disabled", "model": "anthropic/m", "small_model": "anthropic/m", "permission": in{"*": "allow"},
		"provider": in{"anthropic": in{"options": in{"baseURL": url + "/v1", "apiKey": "none"}, "models": in{"m": model}}},
	})
}

// codexHome sets it up for codex, which speaks the Responses API.
func codexHome(home, url string) error {
	return writeFile(filepath.Join(home, ".codex", "config.toml"), fmt.Sprintf(
		"model = \"m\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"%s/v1\"\nwire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n", url))
}

// writeFile writes a text, or anything else as JSON.
func writeFile(path string, content any) error {
	text, ok := content.(string)
	if !ok {
		raw, err := json.Marshal(content)
		if err != nil {
			return err
		}
		text = string(raw)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
