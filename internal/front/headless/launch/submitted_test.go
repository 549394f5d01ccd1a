package launch_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/mcp/config"
)

// What a session on another machine is given is a list, each flag one word, files by their
// content. Everything else is refused: a flag that was dropped might have been a restriction.
func TestSubmitted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rule.txt")
	if err := os.WriteFile(file, []byte("Be brief."), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := launch.Submitted([]string{"--model", "sonnet", "--disallowedTools", "Bash", "Web", "--add-dir", filepath.Dir(file), "--system-prompt-file=" + file}, true)
	if diff := cmp.Diff([]string{"--add-dir=" + filepath.Dir(file), "--disallowedTools=Bash", "--disallowedTools=Web", "--model=sonnet", "--system-prompt=Be brief."}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	if again, err := launch.Submitted(got, false); err != nil || !cmp.Equal(again, got) {
		t.Errorf("what was submitted is %q on the other machine, %v", again, err)
	}
	for want, args := range map[string][]string{
		`"--dissallowedTools" is not a flag`:            {"--dissallowedTools=Bash"},
		`"word" is not a flag`:                          {"word"},
		"--debug-file cannot be used":                   {"--debug-file=/tmp/x"},
		"--session-id cannot be used":                   {"--session-id=x"},
		"--i-know cannot be used":                       {"--i-know"},
		"--chrome cannot be used":                       {"--chrome"},
		"--mcp-config cannot be used":                   {"--mcp-config={}"},
		"--settings cannot be used":                     {"--settings={}"},
		`"here": give the full path of a folder`:        {"--add-dir=here"},
		"--system-prompt-file cannot be used":           {"--system-prompt-file", file},
		"invalid argument":                              {"--max-turns=many"},
		"--output-format cannot be used for a session ": {"--output-format=text"},
	} {
		if got, err := launch.Submitted(args, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", args, got, err, want)
		}
	}
	here, err := filepath.Abs("here")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := launch.Submitted([]string{"--add-dir=here"}, true); err != nil || !cmp.Equal(got, []string{"--add-dir=" + here}) {
		t.Errorf("a folder of this machine is %q, %v", got, err)
	}
	// A flag that is added to haft is not submitted until someone has decided so.
	flags := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	flags.Bool("new", false, "")
	if err := flags.Parse([]string{"--new"}); err != nil {
		t.Fatal(err)
	}
	if got, err := launch.SubmittedFlags(flags, true, nil); err != nil || len(got) != 0 {
		t.Errorf("a flag of something else: %q, %v", got, err)
	}
}

// Every flag of haft is one that a client of a server can give to a session, one that only a
// program which leads its conversation can use, or refused, by both ways in. A new flag is
// refused until someone has decided otherwise.
func TestEveryFlagOfAClientIsDecided(t *testing.T) {
	refused := map[string]bool{}
	for _, name := range []string{
		"agents", "allow-dangerously-skip-permissions", "bare", "dangerously-skip-permissions", "debug", "debug-file", "i-know", "ignore-bad-rules",
		"ignore-project-hooks", "managed-settings", "managed-settings-in-initialize", "no-session-persistence", "plugin-dir", "plugin-dir-no-mcp", "preview", "restricted", "safe-mode", "setting-sources", "settings", "system-prompt-file",
		"append-system-prompt-file", "tools-on", "trust-project",
	} {
		refused[name] = true
	}
	ofProgram := map[string]bool{}
	for _, name := range []string{
		"input-format", "output-format", "await-initialize", "resume", "resume-session-at", "resume-drops-turn", "continue", "fork-session", "session-id", "session-mirror",
		"permission-prompts", "permission-prompt-tool", "mcp-config",
	} {
		ofProgram[name] = true
	}
	values := map[string]string{
		"permission-prompt-tool": "stdio", "mcp-config": `{"mcpServers":{"mine":{"type":"sdk","name":"mine"}}}`, "input-format": "stream-json", "output-format": "stream-json",
		"json-schema": "{}", "add-dir": t.TempDir(), "thinking": "enabled", "max-time": "1m", "betas": "a",
	}
	fs := pflag.NewFlagSet("haft", pflag.ContinueOnError)
	new(launch.Flags).Define(fs)
	seen := 0
	fs.VisitAll(func(f *pflag.Flag) {
		value := values[f.Name]
		switch {
		case value != "":
		case f.Value.Type() == "bool":
			value = "true"
		default:
			value = "1"
		}
		arg := "--" + f.Name + "=" + value
		_, asSession := launch.Submitted([]string{arg}, false)
		_, asProgram := launch.Program([]string{"--input-format=stream-json", "--output-format=stream-json", arg}, "test", io.Discard)
		noEffect := strings.Contains(f.Usage, "has no effect") && f.Name != "await-initialize"
		if want := !refused[f.Name] && !ofProgram[f.Name] && !noEffect; want != (asSession == nil) {
			t.Errorf("a session is given %s: %v", arg, asSession)
		}
		if want := !refused[f.Name]; want != (asProgram == nil) {
			t.Errorf("a program is given %s: %v", arg, asProgram)
		}
		if refused[f.Name] || ofProgram[f.Name] {
			seen++
		}
	})
	if seen != len(refused)+len(ofProgram) {
		t.Errorf("%d of %d flags in the lists exist", seen, len(refused)+len(ofProgram))
	}
	for want, args := range map[string][]string{
		"permissions can only be turned off in a terminal": {"--permission-mode=bypassPermissions"},
		"only stdio can": {"--permission-prompt-tool=mcp__a__b"},
		"except for servers that run inside the program": {`--mcp-config={"mcpServers":{"a":{"type":"sdk"},"b":{"command":"sh"}}}`},
		"--mcp-config cannot be used":                    {"--mcp-config=/etc/servers.json"},
		`"here": give the full path of a folder`:         {"--add-dir=here"},
	} {
		if _, err := launch.Program(append(args, "--input-format=stream-json", "--output-format=stream-json"), "test", io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// A program can bring servers inside itself, whatever the text that names them looks like: what
// is judged is what would run, and nothing of it but the name remains.
func TestTheServersOfAClientAreInsideIt(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"null", "[]", "servers.json"} {
		if err := os.WriteFile(name, []byte(`{"mcpServers":{"a":{"command":"sh"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OWNERS_KEY", "sk-secret")
	formats := []string{"--input-format=stream-json", "--output-format=stream-json"}
	for _, value := range []string{
		`{"mcpServers":{"a":{"command":"sh"},"a":{"type":"sdk"}}}`,
		`{"mcpServers":{"a":{"type":"sdk"},"a":{"command":"sh"}}}`,
		`{"mcpServers":{"b":{"type":"sdk"}},"mcpServers":{"a":{"command":"sh"}}}`,
		`{"mcpServers":{"a":{"command":"sh"}},"MCPSERVERS":{"b":{"type":"sdk"}}}`,
		`{"mcpServers":{"a":{"type":"sdk","type":"stdio","command":"sh"}}}`,
		`{"mcpServers":{"a":{"type":"sdk","Type":"http","url":"http://h/mcp"}}}`,
		`{"mcpServers":{"a":{"type":"sdk"},/* */"b":{"type":"SDK"}}}`,
		"null", "[]", "servers.json", "",
	} {
		o, err := launch.Program(append(formats, "--mcp-config="+value), "test", io.Discard)
		if err == nil {
			for _, e := range o.Talk.MCP.Entries {
				if string(e.Raw) != `{"type":"sdk"}` {
					t.Errorf("%s starts %s", value, e.Raw)
				}
			}
		} else if !strings.Contains(err.Error(), "except for servers that run inside the program") {
			t.Errorf("%s: %v", value, err)
		}
	}
	o, err := launch.Program(append(formats, `--mcp-config={"mcpServers":{"a":{"type":"sdk","name":"a","command":"${OWNERS_KEY}","env":{"K":"${OWNERS_KEY}"},"trust":true}}}`), "test", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	servers, _ := config.Servers(o.Talk.MCP.Entries, nil)
	want := []mcp.Server{{Name: "a", Scope: "dynamic", Origin: "the command line", Type: mcp.SDK}}
	if diff := cmp.Diff(want, servers); diff != "" {
		t.Errorf("the server of the program (-want +got):\n%s", diff)
	}
}
