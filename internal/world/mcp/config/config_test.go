package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
)

func vars(set map[string]string) *config.Options {
	return &config.Options{Lookup: func(name string) (string, bool) { v, ok := set[name]; return v, ok }}
}

func one(t *testing.T, raw string, set map[string]string) mcp.Server {
	t.Helper()
	servers, _ := config.Servers([]config.Entry{{Name: "s", Raw: json.RawMessage(raw), Scope: "project", Origin: "f"}}, vars(set))
	if len(servers) != 1 {
		t.Fatalf("%d servers", len(servers))
	}
	return servers[0]
}

func TestVariablesAreFilledInEverywhere(t *testing.T) {
	set := map[string]string{"C": "node", "T": "tok", "EMPTY": ""}
	got := one(t, `{"command":"${C}","args":["${A:-def}","$C","${EMPTY:-e}","${EMPTY}"],"env":{"T":"${T}"}}`, set)
	want := mcp.Server{Name: "s", Scope: "project", Origin: "f", Command: "node", Args: []string{"def", "$C", "e", ""}, Env: map[string]string{"T": "tok"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("stdio (-want +got):\n%s", d)
	}
	got = one(t, `{"type":"http","url":"https://${H:-h.example}/mcp","headers":{"A":"Bearer ${T}"},"timeout":1500}`, set)
	want = mcp.Server{Name: "s", Scope: "project", Origin: "f", Type: mcp.HTTP, URL: "https://h.example/mcp", Headers: map[string]string{"A": "Bearer tok"}, CallTimeout: mcp.Millis(1500 * time.Millisecond)}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("http (-want +got):\n%s", d)
	}
}

func TestAnEntryThatCannotBeUsedSaysWhy(t *testing.T) {
	for raw, want := range map[string]string{
		`{"command":"${NOPE}"}`:            "the variable NOPE is not set: set it, or give a default as in ${NOPE:-value}",
		`{"url":"https://${NOPE}/mcp"}`:    "the variable NOPE is not set: set it, or give a default as in ${NOPE:-value}",
		`{}`:                               "the entry has neither a command nor a url",
		`{"command":"x","url":"http://h"}`: "the entry has both a command and a url: remove one of them",
		`{"type":"ws","url":"wss://h"}`:    "the type ws is not supported: use http",
		`{"type":"pigeon","command":"x"}`:  `unknown type "pigeon": use stdio, http or sse`,
		`{"type":"http","url":"h/mcp"}`:    `"h/mcp" is not an http or https URL`,
		`{"command":5}`:                    "the entry cannot be read",
		`{"url":"http://h/mcp"}`:           "",
	} {
		if got := one(t, raw, nil).Problem; !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestAVariableThatIsNotSetIsEmpty(t *testing.T) {
	servers, warnings := config.Servers([]config.Entry{{Name: "s", Raw: json.RawMessage(`{"command":"x","args":["--key=${NOPE}","${NONE}"],"env":{"K":"${NOPE}"}}`), Scope: "user", Origin: "f"}}, vars(nil))
	want := []mcp.Server{{Name: "s", Scope: "user", Origin: "f", Command: "x", Args: []string{"--key=", ""}, Env: map[string]string{"K": ""}}}
	if d := cmp.Diff(want, servers); d != "" {
		t.Errorf("servers (-want +got):\n%s", d)
	}
	said := []string{`f: MCP server "s": the variables NONE, NOPE are not set, so the server gets an empty value: set them, or give a default as in ${NONE:-value}`}
	if d := cmp.Diff(said, warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestTheStrongerScopeWinsAndASecondNameIsNoSecondServer(t *testing.T) {
	servers, warnings := config.Servers([]config.Entry{
		{Name: "a", Raw: json.RawMessage(`{"command":"local"}`), Scope: "local", Origin: "l"},
		{Name: "a", Raw: json.RawMessage(`{"command":"user","args":["x"]}`), Scope: "user", Origin: "u"},
		{Name: "b", Raw: json.RawMessage(`{"url":"https://h/mcp"}`), Scope: "project", Origin: "p"},
		{Name: "c", Raw: json.RawMessage(`{"type":"http","url":"https://h/mcp"}`), Scope: "user", Origin: "u"},
		{Name: " d", Raw: json.RawMessage(`{"command":"d "}`), Scope: "user", Origin: "u"},
	}, vars(nil))
	var got []string
	for _, s := range servers {
		got = append(got, s.Name+" "+s.Scope+" "+s.Command+s.URL)
	}
	if d := cmp.Diff([]string{"a local local", "b project https://h/mcp", " d user d "}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := []string{
		`u: MCP server "c" is ignored: it is the same as "b"`,
		`u: MCP server " d": the name has spaces around it`,
		`u: MCP server " d": there are spaces around "d "`,
	}
	if d := cmp.Diff(want, warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestAProjectCannotVouchForItsServers(t *testing.T) {
	if s := one(t, `{"command":"x","trust":true}`, nil); s.Trusted {
		t.Error("a project's server is trusted by its own word")
	}
	servers, _ := config.Servers([]config.Entry{{Name: "s", Raw: json.RawMessage(`{"command":"x","trust":true}`), Scope: "user"}}, nil)
	if !servers[0].Trusted {
		t.Error("the person's word does not count")
	}
}

func TestPolicy(t *testing.T) {
	match := func(raw string) []config.Match {
		m, err := config.ReadMatches(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	npx := mcp.Server{Name: "gh", Command: "npx", Args: []string{"-y", "gh"}}
	web := mcp.Server{Name: "web", Type: mcp.HTTP, URL: "https://mcp.corp.example/a/mcp"}
	for _, c := range []struct {
		name            string
		allowed, denied string
		server          mcp.Server
		want            bool
	}{
		{"nothing said allows", "null", "null", npx, true},
		{"an empty list allows nothing", "[]", "null", npx, false},
		{"the exact command is allowed", `[{"serverCommand":["npx","-y","gh"]}]`, "null", npx, true},
		{"another argument is not", `[{"serverCommand":["npx","-y"]}]`, "null", npx, false},
		{"a name is not enough where commands are listed", `[{"serverName":"gh"},{"serverCommand":["x"]}]`, "null", npx, false},
		{"a name is enough where none are", `[{"serverName":"gh"}]`, "null", npx, true},
		{"an address matches by wildcard", `[{"serverUrl":"https://*.corp.example/*"}]`, "null", web, true},
		{"a star in the host stays in the host", `[{"serverUrl":"https://*.corp.example/*"}]`, "null", mcp.Server{URL: "https://evil.example/x.corp.example/"}, false},
		{"what looks like a host before an @ is none", `[{"serverUrl":"https://*.corp.example/*"}]`, "null", mcp.Server{URL: "https://a.corp.example@evil.example/"}, false},
		{"deny wins", `[{"serverName":"gh"}]`, `[{"serverCommand":["npx","-y","gh"]}]`, npx, false},
		{"deny by address", "null", `[{"serverUrl":"https://mcp.corp.example/*"}]`, web, false},
		{"the administrator's own servers are not judged", "[]", "null", mcp.Server{Name: "m", Scope: "managed", Command: "x"}, true},
	} {
		p := &config.Policy{Allowed: match(c.allowed), Denied: match(c.denied)}
		if v := p.Approve(nil)(c.server); v.Allowed != c.want {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	for _, bad := range []string{`[{}]`, `[{"serverName":"a","serverUrl":"b"}]`, `5`} {
		if _, err := config.ReadMatches(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestFilesOfOtherToolsAreImportedUnchanged(t *testing.T) {
	var got strings.Builder
	for _, file := range []string{"claude/.mcp.json", "cursor/.cursor/mcp.json", "vscode/.vscode/mcp.json", "codex/config.toml", "gemini/.gemini/settings.json", "opencode/opencode.json"} {
		data, err := os.ReadFile(filepath.Join("testdata/import", file))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := config.Import(file, data)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n", file)
		for _, e := range entries {
			var value any
			if err := json.Unmarshal(e.Raw, &value); err != nil {
				t.Fatal(err)
			}
			raw, _ := json.Marshal(value)
			fmt.Fprintf(&got, "  %s %s\n", e.Name, raw)
		}
	}
	golden.Check(t, "testdata/import.golden", got.String())
}

func TestABrokenFileIsAnErrorWithItsPlace(t *testing.T) {
	for file, text := range map[string]string{"a.json": `{"mcpServers":`, "b.json": `{"mcpServers":[]}`, "config.toml": "[mcp_servers.x]\ncommand = \"a\nb\""} {
		if _, err := config.Import(file, []byte(text)); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func FuzzImport(f *testing.F) {
	for _, name := range []string{"config.toml", "opencode.json", ".vscode/mcp.json", "a.json"} {
		f.Add(name, "[mcp_servers.a]\nb = [1, \"x\", {c = 'd'}]\n")
		f.Add(name, `{"mcpServers":{"a":{"command":"x"}},"servers":{},"mcp":{}}`)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		entries, err := config.Import(name, []byte(text))
		if err == nil {
			config.Servers(entries, nil)
		}
	})
}

func FuzzExpand(f *testing.F) {
	f.Add("${A:-${B}} $C ${} ${1}")
	f.Fuzz(func(t *testing.T, text string) {
		filled, missing := config.Expand(text, func(string) (string, bool) { return "", false })
		if !strings.Contains(text, "${") && (filled != text || missing != nil) {
			t.Errorf("%q became %q", text, filled)
		}
	})
}
