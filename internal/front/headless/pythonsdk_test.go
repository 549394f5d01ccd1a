package headless_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// A pyRun is one use of haft as the Python SDK uses it: the flags that it builds, its
// initialize request, and its answers to what haft asks.
type pyRun struct {
	*player
	t         *testing.T
	dir, home string
	server    *script.Server
	stderr    *bytes.Buffer

	hooks map[string]string // answers of the callbacks, by id
	tools []string          // of the MCP server in the program

	called  []map[string]any // inputs of hooks
	asked   []string         // tools that can_use_tool was asked about
	ran     []string         // tools of the MCP server that ran
	results []map[string]any
	told    []string // requests that were sent and answered, by subtype
}

// A pyStage is what the runs of one case share.
type pyStage struct {
	t         *testing.T
	dir, home string
	lenient   bool // haft may send what the API refuses
}

func newPyStage(t *testing.T) *pyStage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &pyStage{t: t, dir: filepath.Join(dir, "project"), home: filepath.Join(dir, "home")}
	for _, folder := range []string{s.dir, s.home} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "sk-ant-scripted", "HOME": s.home, "CLAUDE_CONFIG_DIR": "", "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "",
		"CLAUDE_CODE_ENTRYPOINT": "sdk-py", "CLAUDE_AGENT_SDK_VERSION": "0.2.143", "CLAUDE_CODE_MAX_RETRIES": "1", "IS_SANDBOX": "1",
	} {
		t.Setenv(name, value)
	}
	return s
}

func (s *pyStage) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if filepath.IsAbs(name) {
		path = name
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// start begins a run: flags beside those that the SDK always gives, members of the
// initialize request, and the model's answers.
func (s *pyStage) start(flags []string, initialize string, turns ...script.Turn) *pyRun {
	s.t.Helper()
	return s.startParts(flags, initialize, script.Scenario{Turns: turns})
}

func (s *pyStage) startParts(flags []string, initialize string, scenario script.Scenario) *pyRun {
	s.t.Helper()
	serve := func(o *script.Options) (*script.Server, error) { return scripttest.Serve(s.t, o) }
	if s.lenient {
		serve = script.Serve
	}
	srv, err := serve(&script.Options{Scenario: &scenario})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { srv.Close() })
	s.t.Setenv("ANTHROPIC_BASE_URL", srv.URL())
	var stderr bytes.Buffer
	args := append([]string{"--output-format", "stream-json", "--verbose", "--system-prompt", ""}, flags...)
	opts, err := launch.Parse(append(args, "--input-format", "stream-json"), "v0", &stderr)
	if err != nil {
		s.t.Fatal(err)
	}
	opts.Harness.Dir = s.dir
	r := &pyRun{player: newPlayer(s.t, opts), t: s.t, dir: s.dir, home: s.home, server: srv, stderr: &stderr, hooks: map[string]string{}}
	if initialize != "" {
		initialize = "," + initialize
	}
	r.request("initialize", initialize)
	return r
}

// request sends a control request; its answer is looked at by check.
func (r *pyRun) request(subtype, members string) {
	r.told = append(r.told, subtype)
	r.write(fmt.Sprintf(`{"type":"control_request","request_id":"req_%d","request":{"subtype":%q%s}}`, len(r.told), subtype, members))
}

// query sends a prompt and reads to the end of its turn.
func (r *pyRun) query(prompt string) map[string]any {
	r.t.Helper()
	r.send(prompt, "")
	return r.response()
}

func (r *pyRun) send(prompt, members string) {
	text, _ := json.Marshal(prompt)
	r.write(fmt.Sprintf(`{"type":"user","message":{"role":"user","content":%s},"parent_tool_use_id":null,"session_id":"default"%s}`, text, members))
}

// response reads to the next result and answers what haft asks meanwhile.
func (r *pyRun) response() map[string]any {
	r.t.Helper()
	for {
		m := r.next()
		if m == nil {
			r.t.Fatalf("haft ended before the result; it said %v", r.said)
		}
		if m["type"] == "result" {
			r.results = append(r.results, m)
			return m
		}
	}
}

// next reads one message, answers it if it is a request, and keeps it; nil is the end.
func (r *pyRun) next() map[string]any {
	r.t.Helper()
	before := len(r.said)
	if !r.readOne() {
		return nil
	}
	m := r.said[before]
	if m["type"] == "control_request" {
		r.answer(m)
	}
	if m["type"] == "control_response" {
		if response := m["response"].(map[string]any); response["subtype"] != "success" {
			r.t.Errorf("a request was refused: %v", response)
		}
	}
	return m
}

func (r *pyRun) answer(m map[string]any) {
	id, request := m["request_id"].(string), m["request"].(map[string]any)
	var reply any = map[string]any{}
	switch request["subtype"] {
	case "can_use_tool":
		r.asked = append(r.asked, request["tool_name"].(string))
		reply = map[string]any{"behavior": "allow", "updatedInput": request["input"]}
	case "hook_callback":
		r.called = append(r.called, request["input"].(map[string]any))
		reply = json.RawMessage(r.hooks[request["callback_id"].(string)])
	case "mcp_message":
		reply = map[string]any{"mcp_response": r.mcp(request["message"].(map[string]any))}
	default:
		r.t.Errorf("the SDK has no answer to %v", request)
	}
	raw, err := json.Marshal(map[string]any{"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": id, "response": reply}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(string(raw))
}

// mcp is the MCP server in the program: each tool returns its input.
func (r *pyRun) mcp(m map[string]any) any {
	reply := map[string]any{"jsonrpc": "2.0", "id": m["id"], "result": map[string]any{}}
	switch m["method"] {
	case "initialize":
		reply["result"] = map[string]any{"protocolVersion": "2024-11-05", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "test", "version": "1.0.0"}}
	case "tools/list":
		var list []any
		for _, name := range r.tools {
			list = append(list, map[string]any{"name": name, "description": "Does it", "inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}}})
		}
		reply["result"] = map[string]any{"tools": list}
	case "tools/call":
		name := m["params"].(map[string]any)["name"].(string)
		r.ran = append(r.ran, name)
		reply["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": "Echo"}}}
	default:
		if m["id"] != nil {
			delete(reply, "result")
			reply["error"] = map[string]any{"code": -32601, "message": "Method not found"}
		}
	}
	return reply
}

// end closes the input, reads what is left and returns the exit code.
func (r *pyRun) end() int {
	r.t.Helper()
	r.in.Close()
	for r.next() != nil {
	}
	return <-r.code
}

// of are the messages of a type or subtype.
func (r *pyRun) of(kind string) (list []map[string]any) {
	for _, m := range r.said {
		if m["type"] == kind || m["subtype"] == kind {
			list = append(list, m)
		}
	}
	return list
}

// init is the first init message.
func (r *pyRun) init() map[string]any {
	r.t.Helper()
	list := r.of("init")
	if len(list) == 0 {
		r.t.Fatal("there is no init message")
	}
	return list[0]
}

// blocks are the content blocks of the assistant messages, with the call that they belong
// to under "parent".
func (r *pyRun) blocks() (list []map[string]any) {
	for _, m := range r.of("assistant") {
		for _, b := range m["message"].(map[string]any)["content"].([]any) {
			b := b.(map[string]any)
			b["parent"] = m["parent_tool_use_id"]
			list = append(list, b)
		}
	}
	return list
}

// strs is a member that is a list of strings.
func strs(m map[string]any, name string) (list []string) {
	all, _ := m[name].([]any)
	for _, v := range all {
		list = append(list, v.(string))
	}
	return list
}

func (r *pyRun) want(what string, ok bool) {
	r.t.Helper()
	if !ok {
		r.t.Errorf("%s: haft said %v", what, r.said)
	}
}

func saysText(text string) script.Turn { return script.Turn{Blocks: []script.Block{{Text: text}}} }

func calls(tool, input string) script.Turn {
	return script.Turn{Blocks: []script.Block{{Tool: tool, Input: json.RawMessage(input)}}}
}

// TestPythonSDKCases restates the end-to-end tests of the Python SDK (claude-agent-sdk-python
// at e8bde60), each by its name: the flags and messages are those that the SDK sends, and
// what is held is what the test there asserts, the model's part being scripted.
func TestPythonSDKCases(t *testing.T) {
	if len(pyCases) != 42 {
		t.Errorf("%d cases, and the suite has 42", len(pyCases))
	}
	for name, test := range pyCases {
		t.Run(name, func(t *testing.T) { test(newPyStage(t)) })
	}
}

// hookCase registers one callback for each event and lets a command run.
func hookCase(s *pyStage, answer string, events ...string) *pyRun {
	var entries []string
	for i, event := range events {
		entries = append(entries, fmt.Sprintf(`%q:[{"matcher":"Bash","hookCallbackIds":["hook_%d"]}]`, event, i))
	}
	r := s.start([]string{"--allowedTools", "Bash"}, `"hooks":{`+strings.Join(entries, ",")+`}`, calls("Bash", `{"command":"echo ran"}`), saysText("ok"))
	for i := range events {
		r.hooks[fmt.Sprintf("hook_%d", i)] = answer
	}
	r.query("Run: echo 'test'")
	r.end()
	return r
}

// fired are the events that hooks were called for.
func (r *pyRun) fired() (events []string) {
	for _, in := range r.called {
		events = append(events, in["hook_event_name"].(string))
	}
	return events
}

// results of calls, as the model got them.
func (r *pyRun) returned() (text string) {
	raw, _ := json.Marshal(r.of("user"))
	return string(raw)
}

func contains(list []string, name string) bool { return slices.Contains(list, name) }
