package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResumeMayStandAlone(t *testing.T) {
	for name, c := range map[string]struct{ args, want []string }{
		"at the end":          {[]string{"--resume"}, []string{"--resume="}},
		"before a flag":       {[]string{"-r", "--model=x"}, []string{"--resume=", "--model=x"}},
		"with a session's id": {[]string{"--resume", "id"}, []string{"--resume", "id"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, normalize(c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsTakeTheWordsThatFollow(t *testing.T) {
	for name, c := range map[string]struct{ args, want []string }{
		"rules, then the prompt":   {[]string{"-p", "--allowedTools", "Read", "Bash(go test:*)", "say hi"}, []string{"-p", "--allowedTools", "Read", "--allowedTools=Bash(go test:*)", "say hi"}},
		"the prompt first":         {[]string{"-p", "say hi", "--allowedTools", "Read", "mcp__a__b"}, []string{"-p", "say hi", "--allowedTools", "Read", "--allowedTools=mcp__a__b"}},
		"a flag after them":        {[]string{"--tools", "Read", "Edit", "-p", "Go"}, []string{"--tools", "Read", "--tools=Edit", "-p", "Go"}},
		"a list in one word":       {[]string{"--disallowedTools=Read", "Go"}, []string{"--disallowedTools=Read", "Go"}},
		"what is said to be words": {[]string{"--tools", "Read", "--", "Edit"}, []string{"--tools", "Read", "--", "Edit"}},
		"configurations":           {[]string{"--mcp-config", "a.json", `{"mcpServers":{}}`, "args.go", "say hi"}, []string{"--mcp-config", "a.json", `--mcp-config={"mcpServers":{}}`, "--mcp-config=args.go", "say hi"}},
		"betas":                    {[]string{"--betas", "context-1m-2025-08-07", "files-api-2025-04-14", "hi"}, []string{"--betas", "context-1m-2025-08-07", "--betas=files-api-2025-04-14", "hi"}},
		"a filter":                 {[]string{"-d", "api,!hooks", "say hi"}, []string{"--debug=api,!hooks", "say hi"}},
		"a worktree":               {[]string{"-w", "fix-it", "-p", "say hi"}, []string{"--worktree=fix-it", "-p", "say hi"}},
		"an empty word stays":      {[]string{"--tools", "", "-d", "api", "-w", "x", "hi there"}, []string{"--tools", "", "--debug=api", "--worktree=x", "hi there"}},
		"a name that is none":      {[]string{"-w", "../x", "-p", "say hi"}, []string{"--worktree=../x", "-p", "say hi"}},
		"no filter":                {[]string{"--debug", "say hi"}, []string{"--debug", "say hi"}},
		"folders":                  {[]string{"--add-dir", "/", "/", "go"}, []string{"--add-dir", "/", "--add-dir=/", "go"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, normalize(c.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
