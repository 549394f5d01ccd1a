package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// seen is what the official client was told; see testdata/client/client.mjs.
type seen struct {
	Initialize struct {
		ProtocolVersion int
	}
	Updates     []struct{ Update update }
	Replayed    []struct{ Update update }
	Permissions []struct {
		ToolCall update
		Options  []struct{ Kind string }
	}
	Reads    []struct{ Path string }
	Prompts  []struct{ StopReason string }
	List     struct{ Sessions []struct{ Title string } }
	Options  struct{ ConfigOptions []any }
	Unknown  int
	Problems []string
	Exit     any
	Took     map[string]float64
}

type update struct {
	SessionUpdate, ToolCallID, Kind, Status, Title string
	Content                                        json.RawMessage
	Locations                                      []struct{ Path string }
}

const clientScenario = `{"turns":[
 {"blocks":[{"thinking":"Hm."},{"text":"Let me look."},{"tool":"Read","id":"toolu_read","input":{"file_path":"$DIR/a.txt"}}]},
 {"blocks":[{"tool":"Edit","id":"toolu_edit","input":{"file_path":"$DIR/a.txt","old_string":"two","new_string":"TWO"}}]},
 {"blocks":[{"tool":"Bash","id":"toolu_bash","input":{"command":"touch made.txt; echo made","description":"Make a file"}}]},
 {"blocks":[{"tool":"Write","id":"toolu_deny","input":{"file_path":"$DIR/no.txt","content":"no"}}]},
 {"blocks":[{"tool":"TodoWrite","id":"toolu_todo","input":{"todos":[{"content":"Rest","status":"in_progress","activeForm":"Resting"}]}}]},
 {"blocks":[{"text":"Done."}]}],"side":{"blocks":[{"text":"A title"}]}}`

// lead leads a session of an agent with the official client.
func lead(t *testing.T, modules string, agent []string, env ...string) (s seen, dir string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var scenario script.Scenario
	if err := json.Unmarshal([]byte(strings.ReplaceAll(clientScenario, "$DIR", dir)), &scenario); err != nil {
		t.Fatal(err)
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &scenario})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	command, err := json.Marshal(agent)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "client.mjs"))
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + base, "TMPDIR=" + base, "LANG=C.UTF-8", "IS_SANDBOX=1", "ANTHROPIC_API_KEY=sk-ant-scripted", "ANTHROPIC_BASE_URL=" + srv.URL(),
		"CLAUDE_CODE_MAX_RETRIES=1", "CLAUDE_CODE_ENABLE_TASKS=0", "DISABLE_TELEMETRY=1", "ACP_AGENT=" + string(command), "ACP_CWD=" + dir, `ACP_PROMPTS=["Do it"]`,
	}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(s.Problems) > 0 {
		t.Fatalf("%s\n%s", strings.Join(s.Problems, "\n"), stderr.Bytes())
	}
	return s, dir
}

// clientModules installs the official packages and returns the folder with the client.
func clientModules(t *testing.T) string {
	modules := needtest.Locked(t, os.DirFS("testdata/client"), "--omit=optional")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/client")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// haft builds the command.
func haft(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "haft")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, "github.com/haftdev/haft/cmd/haft").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// shape is what a client makes of a call in the end.
type shape struct {
	Kind, Status string
	Diff, File   bool
}

// calls are the shapes of all calls, by their ids.
func (s *seen) calls() map[string]shape {
	all := map[string]shape{}
	for _, n := range s.Updates {
		u := n.Update
		if u.ToolCallID == "" {
			continue
		}
		c := all[u.ToolCallID]
		if u.Kind != "" {
			c.Kind = u.Kind
		}
		if u.Status != "" {
			c.Status = u.Status
		}
		c.Diff = c.Diff || bytes.Contains(u.Content, []byte(`"type":"diff"`))
		c.File = c.File || len(u.Locations) > 0
		all[u.ToolCallID] = c
	}
	return all
}

// kinds are the kinds of updates that came.
func (s *seen) kinds() []string {
	all := map[string]bool{}
	for _, n := range s.Updates {
		all[n.Update.SessionUpdate] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// TestOfficialClient leads a session of haft with the official TypeScript library.
func TestOfficialClient(t *testing.T) {
	modules := clientModules(t)
	s, dir := lead(t, modules, []string{haft(t), "acp"}, "ACP_EXTRAS=1")
	if s.Initialize.ProtocolVersion != 1 || s.Exit != 0.0 || s.Unknown != -32601 {
		t.Errorf("version %d, exit %v, unknown method %d", s.Initialize.ProtocolVersion, s.Exit, s.Unknown)
	}
	want := map[string]shape{
		"toolu_read": {"read", "completed", false, true}, "toolu_edit": {"edit", "completed", true, true},
		"toolu_bash": {"execute", "completed", false, false}, "toolu_deny": {"edit", "failed", true, true},
	}
	if d := cmp.Diff(want, s.calls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	kinds := []string{"agent_message_chunk", "agent_thought_chunk", "available_commands_update", "config_option_update", "current_mode_update", "plan", "tool_call", "tool_call_update", "usage_update", "user_message_chunk"}
	if d := cmp.Diff(kinds, s.kinds()); d != "" {
		t.Errorf("updates (-want +got):\n%s", d)
	}
	if len(s.Permissions) != 3 || len(s.Reads) != 1 || len(s.Replayed) == 0 || len(s.List.Sessions) != 1 || len(s.Options.ConfigOptions) == 0 {
		t.Errorf("%d questions, %d reads, %d updates of the replay, sessions %v", len(s.Permissions), len(s.Reads), len(s.Replayed), s.List.Sessions)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(raw) != "one\nTWO\nthree\n" {
		t.Errorf("a.txt is %q, %v", raw, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "no.txt")); err == nil {
		t.Error("what was denied was written")
	}
	t.Logf("milliseconds: %v", s.Took)
}

// TestBesideTheOfficialAdapter leads the same session of the official adapter, with haft
// in the place of the command line that it drives: a user of either sees the same calls.
func TestBesideTheOfficialAdapter(t *testing.T) {
	modules := clientModules(t)
	command := haft(t)
	adapter := filepath.Join(modules, "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js")
	theirs, _ := lead(t, modules, []string{"node", adapter}, "CLAUDE_CODE_EXECUTABLE="+command)
	ours, _ := lead(t, modules, []string{command, "acp"})
	if d := cmp.Diff(theirs.calls(), ours.calls()); d != "" {
		t.Errorf("calls (-adapter +haft):\n%s", d)
	}
	if d := cmp.Diff(theirs.Prompts, ours.Prompts); d != "" {
		t.Errorf("stop reasons (-adapter +haft):\n%s", d)
	}
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk", "available_commands_update", "plan", "tool_call", "tool_call_update", "usage_update"} {
		if slices.Contains(theirs.kinds(), kind) && !slices.Contains(ours.kinds(), kind) {
			t.Errorf("the adapter tells %s, haft does not", kind)
		}
	}
	for i, p := range theirs.Permissions {
		kinds := func(list []struct{ Kind string }) (all []string) {
			for _, o := range list {
				if !slices.Contains(all, o.Kind) {
					all = append(all, o.Kind)
				}
			}
			return all
		}
		for _, kind := range kinds(p.Options) { // haft may offer more
			if got := kinds(ours.Permissions[i].Options); !slices.Contains(got, kind) {
				t.Errorf("question %d: the adapter offers %s, haft only %v", i+1, kind, got)
			}
		}
	}
	t.Logf("milliseconds: adapter %v, haft %v; updates: adapter %v, haft %v", theirs.Took, ours.Took, theirs.kinds(), ours.kinds())
}

// TestMethodsBesideTheOfficialAdapter writes the table of methods: those of the schema and of its
// unstable part that haft or the official adapter does not refuse as unknown.
func TestMethodsBesideTheOfficialAdapter(t *testing.T) {
	adapter := filepath.Join(clientModules(t), "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js")
	ours := known(t, haft(t), "acp")
	theirs := known(t, "node", adapter)
	says := map[bool]string{true: "yes", false: "no"}
	table := "| method | haft | claude-agent-acp |\n| --- | --- | --- |\n"
	for _, method := range probed {
		if ours[method] || theirs[method] {
			table += fmt.Sprintf("| %s | %s | %s |\n", method, says[ours[method]], says[theirs[method]])
		}
	}
	golden.Part(t, "../../../docs/acp.md", "methods", table)
}

// probed are the methods with an answer that an agent may have.
var probed = []string{
	"initialize", "authenticate", "logout", "session/new", "session/load", "session/resume", "session/list", "session/close", "session/delete", "session/prompt", "session/set_mode", "session/set_config_option",
	"session/fork", "session/set_title", "session/status", "session/archive", "session/unarchive", "auth/status", "mcp/message", "providers/list", "providers/set", "providers/disable",
}

// known reports which methods an agent knows. They are called with parameters that none takes.
func known(t *testing.T, name string, args ...string) map[string]bool {
	t.Helper()
	var lines strings.Builder
	lines.WriteString(`{"jsonrpc":"2.0","id":-1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	for n, method := range probed {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":7,"methodId":7,"_meta":7}}`+"\n", n, method)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "ANTHROPIC_API_KEY=sk-ant-scripted", "ANTHROPIC_BASE_URL=http://127.0.0.1:1", "CLAUDE_CODE_EXECUTABLE=/bin/false"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = io.WriteString(in, lines.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	knows := map[string]bool{}
	for from := json.NewDecoder(out); len(knows) < len(probed); {
		var m struct {
			ID    *int
			Error struct{ Code int }
		}
		if err := from.Decode(&m); err != nil {
			t.Fatalf("%s: %v, after %v", name, err, knows)
		}
		if m.ID != nil && *m.ID >= 0 {
			knows[probed[*m.ID]] = m.Error.Code != -32601
		}
	}
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait() // how it ends is for other tests
	return knows
}
