//go:build unix

package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/models/catalog"
)

func stopReason(m map[string]any) string {
	result, _ := m["result"].(map[string]any)
	reason, _ := result["stopReason"].(string)
	return reason
}

func code(m map[string]any) int {
	e, _ := m["error"].(map[string]any)
	n, _ := e["code"].(float64)
	return int(n)
}

// sleeping is a command that says who it is and would run for minutes.
const sleeping = `{"turns":[{"blocks":[{"tool":"Bash","id":"toolu_1","input":{"command":"echo $$ > pid; sleep 300","description":"Wait"}}]},{"blocks":[{"text":"never"}]}]}`

// pid waits until the command has said who it is.
func (p *player) pid() int {
	p.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var n int
		if _, err := fmt.Sscan(p.read("pid"), &n); err == nil {
			return n
		}
	}
	p.t.Fatal("the command never ran")
	return 0
}

// gone waits until a process has ended.
func (p *player) gone(pid int) {
	p.t.Helper()
	for end := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("process %d is left", pid)
		}
	}
}

// nothingRuns waits until no goroutine of haft is left, except those of the test. Idle
// connections of HTTP clients are closed later by themselves.
func nothingRuns(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		buf := make([]byte, 4<<20)
		var left []string
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "github.com/haftdev/haft/") && !strings.Contains(g, "haft/model/script") && !strings.Contains(g, "testing.tRunner") {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
	}
}

func TestCancelEndsACommandInTheMiddle(t *testing.T) {
	p := newPlayer(t, sleeping)
	p.begin(`{}`)
	id := p.request("session/prompt", prompt)
	p.readTo("session/request_permission")
	p.choose("allow")
	pid := p.pid()
	began := time.Now()
	p.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}`)
	if got := stopReason(p.readTo("answer " + id)); got != "cancelled" {
		t.Errorf("stop reason %q", got)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	p.gone(pid)
	if got := stopReason(p.call("session/prompt", `{"sessionId":"$SESSION","prompt":[{"type":"text","text":"/cost"}]}`)); got != "end_turn" {
		t.Errorf("afterwards: %q", got)
	}
	p.close()
}

func TestCancelWhileTheUserIsAsked(t *testing.T) {
	p := newPlayer(t, sleeping)
	p.begin(`{}`)
	id := p.request("session/prompt", prompt)
	p.readTo("session/request_permission")
	p.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}`)
	p.readTo("$/cancel_request")
	p.choose("allow") // too late
	if got := stopReason(p.readTo("answer " + id)); got != "cancelled" {
		t.Errorf("stop reason %q", got)
	}
	p.close()
	if got := p.read("pid"); !strings.Contains(got, "no such file") {
		t.Errorf("the command ran: %s", got)
	}
}

func TestCancelBeforeTheModelAnswers(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"ttft_ms":60000,"blocks":[{"text":"late"}]}]}`)
	p.begin(`{}`)
	id := p.request("session/prompt", prompt)
	p.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}`) // at once: it may not have begun
	if got := stopReason(p.readTo("answer " + id)); got != "cancelled" {
		t.Errorf("stop reason %q", got)
	}
	id = p.request("session/prompt", prompt)
	p.readTo("usage_update")
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, id))
	if got := stopReason(p.readTo("answer " + id)); got != "cancelled" {
		t.Errorf("stop reason of a request that was taken back %q", got)
	}
	p.close()
}

func TestAClientThatDiesLeavesNoProcess(t *testing.T) {
	for name, die := range map[string]func(*player){
		"in the middle of a command": func(p *player) { p.choose("allow"); p.pid() },
		"while it is asked":          func(*player) {},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlayer(t, sleeping)
			p.begin(`{}`)
			p.request("session/prompt", prompt)
			p.readTo("session/request_permission")
			die(p)
			p.close()
			var pid int
			if _, err := fmt.Sscan(p.read("pid"), &pid); err == nil {
				p.gone(pid)
			}
			nothingRuns(t)
		})
	}
}

// TestAClientThatReadsNothing ends although nobody reads what it says.
func TestAClientThatReadsNothing(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"text":"`+strings.Repeat("word ", 100_000)+`"}]}]}`)
	p.begin(`{}`)
	p.lines = nil // from here on only the buffer of the test is filled, and then nothing
	p.request("session/prompt", prompt)
	p.in.Close()
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}

func TestTwoSessionsAtOnce(t *testing.T) {
	p := newPlayer(t, `{"turns":[],"parts":[
		{"when":"first","turns":[{"blocks":[{"tool":"Write","id":"toolu_a","input":{"file_path":"$DIR/a","content":"A"}}]},{"blocks":[{"text":"A done"}]}]},
		{"when":"second","turns":[{"blocks":[{"tool":"Write","id":"toolu_b","input":{"file_path":"$DIR/b","content":"B"}}]},{"blocks":[{"text":"B done"}]}]}]}`)
	p.begin(`{}`)
	first := p.session
	p.call("session/new", `{"cwd":"$DIR","mcpServers":[]}`)
	second := p.session
	one := p.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"first"}]}`, first))
	two := p.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"second"}]}`, second))
	asked := map[string]json.RawMessage{}
	for len(asked) < 2 {
		m := p.readTo("session/request_permission")
		asked[m["params"].(map[string]any)["sessionId"].(string)] = p.asked
	}
	p.asked = asked[second]
	p.choose("allow") // the second is answered first: neither waits for the other
	if got := stopReason(p.readTo("answer " + two)); got != "end_turn" {
		t.Errorf("the second: %q", got)
	}
	p.asked = asked[first]
	p.choose("deny")
	if got := stopReason(p.readTo("answer " + one)); got != "end_turn" {
		t.Errorf("the first: %q", got)
	}
	p.close()
	if p.read("b") != "B" || !strings.Contains(p.read("a"), "no such file") {
		t.Errorf("a is %q, b is %q", p.read("a"), p.read("b"))
	}
}

func TestAPromptJoinsTheTurnThatRuns(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"Write","id":"toolu_1","input":{"file_path":"$DIR/a","content":"A"}}]},{"blocks":[{"text":"Both heard."}]}]}`)
	p.begin(`{}`)
	one := p.request("session/prompt", prompt)
	p.readTo("session/request_permission")
	two := p.request("session/prompt", `{"sessionId":"$SESSION","prompt":[{"type":"text","text":"And this"}]}`)
	p.choose("allow")
	got := map[string]string{}
	for _, id := range []string{one, two} {
		got[id] = "" // in either order
	}
	for range got {
		for line := range p.lines {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			id, _ := json.Marshal(m["id"])
			if _, ours := got[string(id)]; ours && m["method"] == nil {
				got[string(id)] = stopReason(m)
				break
			}
		}
	}
	if got[one] != "end_turn" || got[two] != "end_turn" {
		t.Errorf("stop reasons %v", got)
	}
	p.close()
}

func TestLongPrompts(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"text":"Read."}]},{"blocks":[{"text":"Read, too."}]}]}`)
	p.begin(`{}`)
	for _, size := range []int{200 << 10, 2 << 20} {
		text := strings.Repeat("0123456789abcde\\n", size/16)
		if got := stopReason(p.call("session/prompt", `{"sessionId":"$SESSION","prompt":[{"type":"text","text":"`+text+`"}]}`)); got != "end_turn" {
			t.Errorf("%d bytes: %q", size, got)
		}
	}
	p.close()
}

func TestALineThatIsTooLongIsRefusedAndForgotten(t *testing.T) {
	p := newPlayer(t, `{"turns":[]}`)
	p.begin(`{}`)
	go func() {
		chunk := strings.Repeat("x", 1<<20)
		for range 65 {
			p.in.Write([]byte(chunk))
		}
		p.in.Write([]byte("\n"))
	}()
	if got := code(p.readTo("answer null")); got != -32600 {
		t.Errorf("code %d", got)
	}
	if got := p.call("session/list", `{}`); got["result"] == nil {
		t.Errorf("afterwards: %v", got)
	}
	p.close()
}

func TestBoundsOnAClientThatWantsTooMuch(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"ttft_ms":60000,"blocks":[{"text":"late"}]}]}`)
	p.begin(`{}`)
	for range 512 {
		p.request("session/prompt", prompt)
	}
	if got := code(p.call("session/list", `{}`)); got != -32603 {
		t.Errorf("the 513th request: code %d", got)
	}
	p.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}`)
	p.readTo(fmt.Sprintf("answer %d", 3))
	p.send(`{"jsonrpc":"2.0","id":"twice","method":"session/prompt","params":` + prompt + `}`)
	p.send(`{"jsonrpc":"2.0","id":"twice","method":"session/prompt","params":` + prompt + `}`)
	if got := code(p.readTo(`answer "twice"`)); got != -32600 {
		t.Errorf("an id that is used twice: code %d", got)
	}
	p.close()
}

// Between turns, a session is free for another editor.
func TestASessionIsFreeBetweenTurns(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"text":"Hi."}]}]}`)
	p.begin(`{}`)
	p.call("session/prompt", prompt)
	first, session := *p, p.session
	p.connect(nil) // another editor
	p.call("initialize", `{"protocolVersion":1}`)
	m := p.call("session/load", `{"sessionId":"`+session+`","cwd":"$DIR","mcpServers":[]}`)
	if m["error"] != nil {
		t.Errorf("a session that another process has between turns: %v", m)
	}
	first.close()
	m = p.call("session/load", `{"sessionId":"`+session+`","cwd":"$DIR","mcpServers":[]}`)
	if m["error"] != nil {
		t.Errorf("a session that nobody has any more: %v", m)
	}
	p.session = session
	if got := p.call("session/load", `{"sessionId":"$SESSION","cwd":"$DIR","mcpServers":[]}`); got["error"] != nil {
		t.Errorf("a session that is open here, again: %v", got)
	}
	p.close()
}

func TestWithoutAModelTheClientIsTold(t *testing.T) {
	p := newPlayer(t, `{"turns":[]}`)
	p.close()
	key := os.Getenv("ANTHROPIC_API_KEY")
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_BASE_URL", "")
	missing := fmt.Errorf("no key")
	p.connect(func(o *acp.Options) { o.Configured = func() error { return missing } })
	m := p.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"auth":{"terminal":true}}}`)
	methods, _ := json.Marshal(m["result"].(map[string]any)["authMethods"])
	if !strings.Contains(string(methods), `"args":["--setup"]`) || !strings.Contains(string(methods), `"id":"haft-setup"`) {
		t.Errorf("methods %s", methods)
	}
	if got := code(p.call("session/new", `{"cwd":"$DIR","mcpServers":[]}`)); got != -32000 {
		t.Errorf("a session without a model: code %d", got)
	}
	if got := code(p.call("authenticate", `{"methodId":"haft-setup"}`)); got != -32000 {
		t.Errorf("authenticate without a model: code %d", got)
	}
	missing = nil
	t.Setenv("ANTHROPIC_API_KEY", key)
	if m := p.call("authenticate", `{"methodId":"haft-setup"}`); m["error"] != nil {
		t.Errorf("authenticate: %v", m)
	}
	if m := p.call("session/new", `{"cwd":"$DIR","mcpServers":[]}`); m["error"] != nil {
		t.Errorf("a session afterwards: %v", m)
	}
	p.close()
}

// TestClosingASessionLeavesNothing counts what is left of many sessions.
func TestClosingASessionLeavesNothing(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"Bash","id":"toolu_1","input":{"command":"echo hi","description":"Say hi"}}]},{"blocks":[{"text":"Hi."}]}]}`)
	p.begin(`{}`)
	p.call("session/prompt", prompt)
	p.call("session/close", `{"sessionId":"$SESSION"}`)
	for range 5 {
		p.call("session/new", `{"cwd":"$DIR","mcpServers":[]}`)
		if got := stopReason(p.call("session/prompt", prompt)); got != "end_turn" {
			t.Errorf("stop reason %q", got)
		}
		p.call("session/close", `{"sessionId":"$SESSION"}`)
	}
	p.close()
	nothingRuns(t)
}

func TestUsageIsToldBeforeTheAnswer(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"text":"Hi."}],"usage":{"input_tokens":1000,"output_tokens":100}}]}`)
	p.begin(`{}`)
	reply := p.call("session/prompt", prompt)
	raw, _ := json.Marshal(reply["result"])
	if want := `{"stopReason":"end_turn","usage":{"cachedReadTokens":0,"cachedWriteTokens":0,"inputTokens":1000,"outputTokens":100,"totalTokens":1100}}`; string(raw) != want {
		t.Errorf("the answer is %s, want %s", raw, want)
	}
	all := p.updates("usage_update")
	if len(all) == 0 {
		t.Fatal("nothing is told")
	}
	last := all[len(all)-1]
	if used := last["used"].(float64); used < 1100 || used > 100_000 {
		t.Errorf("used %v", used)
	}
	if cost := last["cost"].(map[string]any)["amount"].(float64); cost <= 0 {
		t.Errorf("cost %v", cost)
	}
	p.close()
}

func TestOptions(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"text":"Hi."}]}]}`)
	p.begin(`{}`)
	for id, value := range map[string]string{"mode": "acceptEdits", "model": catalog.Resolve("haiku"), "effort": "low"} {
		m := p.call("session/set_config_option", fmt.Sprintf(`{"sessionId":"$SESSION","configId":%q,"value":%q}`, id, value))
		raw, _ := json.Marshal(m)
		if id == "effort" && strings.Contains(string(raw), "There is no option") {
			continue // haiku came first, which takes none
		}
		var got struct {
			Result struct {
				ConfigOptions []struct{ ID, CurrentValue string }
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, o := range got.Result.ConfigOptions {
			found = found || o.ID == id && o.CurrentValue == value
		}
		if !found {
			t.Errorf("%s is not %s: %s", id, value, raw)
		}
	}
	if got := p.updates("current_mode_update"); len(got) != 1 || got[0]["currentModeId"] != "acceptEdits" {
		t.Errorf("modes told: %v", got)
	}
	p.close()
}

// TestOutputInATerminal has the output of commands shown in a terminal of the editor, by
// the extension that editors know from the official adapter.
func TestOutputInATerminal(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"Bash","id":"toolu_1","input":{"command":"echo one; echo two","description":"Count"}}]},{"blocks":[{"text":"Counted."}]}]}`)
	p.begin(`{"_meta":{"terminal_output":true}}`)
	p.call("session/prompt", prompt)
	raw, _ := json.Marshal(append(p.updates("tool_call"), p.updates("tool_call_update")...))
	for _, want := range []string{`"terminal_info":{"cwd":`, `{"terminalId":"toolu_1","type":"terminal"}`, `"terminal_output":{"data":"one\r\ntwo","terminal_id":"toolu_1"}`, `"terminal_exit":{"exit_code":0,"signal":null,"terminal_id":"toolu_1"}`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	p.close()
}

// TestErrorsOfTheModel are told as text, or as notices where the client shows those, and do
// not break the session.
func TestErrorsOfTheModel(t *testing.T) {
	const failing = `{"turns":[{"status":400,"error_type":"invalid_request_error","error_message":"no such thing","times":-1,"blocks":[{"text":"x"}]}]}`
	for capabilities, kind := range map[string]string{`{}`: "agent_message_chunk", `{"session":{"notices":{}}}`: "notice"} {
		p := newPlayer(t, failing)
		p.begin(capabilities)
		if got := stopReason(p.call("session/prompt", prompt)); got != "end_turn" {
			t.Errorf("stop reason %q", got)
		}
		raw, _ := json.Marshal(p.updates(kind))
		if !strings.Contains(string(raw), "no such thing") {
			t.Errorf("%s: %s is %s", capabilities, kind, raw)
		}
		p.close()
	}
	p := newPlayer(t, `{"turns":[{"status":401,"error_type":"authentication_error","error_message":"bad key","times":-1,"blocks":[{"text":"x"}]}]}`)
	p.begin(`{}`)
	if got := code(p.call("session/prompt", prompt)); got != -32000 {
		t.Errorf("a key that is refused: code %d", got)
	}
	p.close()
}

// TestEveryMethodOfTheSchemaIsKnown asks for every method that the schema has an agent
// answer: haft has it, or does not say that it has.
func TestEveryMethodOfTheSchemaIsKnown(t *testing.T) {
	p := newPlayer(t, `{"turns":[]}`)
	p.begin(`{}`)
	missing := map[string]bool{"logout": true} // there is nothing to log out of
	for method := range p.check.results {
		if !strings.HasPrefix(method, "session/") && method != "initialize" && method != "authenticate" && method != "logout" || method == "session/request_permission" {
			continue // the client's
		}
		m := p.call(method, `{}`)
		if unknown := code(m) == -32601; unknown != missing[method] {
			t.Errorf("%s: %v", method, m)
		}
	}
	p.close()
}

func TestCompactingIsAPrompt(t *testing.T) {
	for capabilities, kind := range map[string]string{`{}`: "agent_message_chunk", `{"session":{"compaction":{}}}`: "compaction_update"} {
		p := newPlayer(t, `{"turns":[{"blocks":[{"text":"One."}]},{"blocks":[{"text":"Two."}]},{"blocks":[{"text":"Three."}]}],"side":{"blocks":[{"text":"A summary of it all."}]}}`)
		p.begin(capabilities)
		for range 3 {
			p.call("session/prompt", prompt)
		}
		before := len(p.updates(kind))
		if m := p.call("session/prompt", `{"sessionId":"$SESSION","prompt":[{"type":"text","text":"/compact"}]}`); stopReason(m) != "end_turn" {
			t.Errorf("%s: %v", capabilities, m)
		}
		if len(p.updates(kind)) == before {
			t.Errorf("%s: no %s says that it was compacted", capabilities, kind)
		}
		p.close()
	}
}

func TestAForkContinuesOnItsOwn(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"text":"One."}]},{"blocks":[{"text":"Two."}]}]}`)
	p.begin(`{}`)
	p.call("session/prompt", prompt)
	first := p.session
	if m := p.call("session/fork", `{"sessionId":"$SESSION","cwd":"$DIR","mcpServers":[]}`); m["error"] != nil || p.session == first {
		t.Fatalf("fork: %v", m)
	}
	if got := stopReason(p.call("session/prompt", prompt)); got != "end_turn" {
		t.Errorf("the fork: %q", got)
	}
	if m := p.call("session/set_title", `{"sessionId":"$SESSION","title":"The other way"}`); m["error"] != nil {
		t.Errorf("set title: %v", m)
	}
	list, _ := json.Marshal(p.call("session/list", `{"cwd":"$DIR"}`)["result"])
	if !strings.Contains(string(list), "The other way") || !strings.Contains(string(list), first) {
		t.Errorf("sessions %s", list)
	}
	p.close()
	raw, _ := json.Marshal(p.updates("session_info_update"))
	if !strings.Contains(string(raw), "The other way") {
		t.Errorf("the title is not told: %s", raw)
	}
}

// TestCallsOfSubAgents are told as part of the call that started the agent.
func TestCallsOfSubAgents(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"Agent","id":"toolu_agent","input":{"description":"Look","prompt":"LOOK at a.txt","subagent_type":"general-purpose","run_in_background":false}}]},{"blocks":[{"text":"It looked."}]}],
		"parts":[{"when":"LOOK at","turns":[{"blocks":[{"tool":"Read","id":"toolu_read","input":{"file_path":"$DIR/a.txt"}}]},{"blocks":[{"text":"I have looked."}]}]}]}`)
	p.write("a.txt", "one\n")
	p.begin(`{}`)
	if got := stopReason(p.call("session/prompt", prompt)); got != "end_turn" {
		t.Errorf("stop reason %q", got)
	}
	p.close()
	var parents []any
	for _, u := range p.updates("tool_call") {
		if u["toolCallId"] == "toolu_read" {
			meta, _ := u["_meta"].(map[string]any)
			parents = append(parents, meta["parentToolCallId"])
		}
	}
	if len(parents) != 1 || parents[0] != "toolu_agent" {
		t.Errorf("the agent's call is part of %v", parents)
	}
	raw, _ := json.Marshal(p.updates("agent_message_chunk"))
	if strings.Contains(string(raw), "I have looked") {
		t.Errorf("what the agent says to the one it works for is told as if it were the answer: %s", raw)
	}
}

// TestWorkInTheBackgroundWakesTheSession has a command end after the turn: the model reads
// of it, and the client is told what it says, without a prompt.
func TestWorkInTheBackgroundWakesTheSession(t *testing.T) {
	p := newPlayer(t, `{"turns":[{"blocks":[{"tool":"Bash","id":"toolu_1","input":{"command":"sleep 0.3; echo over","description":"Wait","run_in_background":true}}]},{"blocks":[{"text":"It runs."}]},{"blocks":[{"text":"It is over."}]}]}`)
	p.begin(`{}`)
	if got := stopReason(p.call("session/prompt", prompt)); got != "end_turn" {
		t.Errorf("stop reason %q", got)
	}
	for {
		m := p.readTo("agent_message_chunk")
		if raw, _ := json.Marshal(m); strings.Contains(string(raw), "It is over.") {
			break
		}
	}
	p.close()
}

// A client that asks for many lists and leaves is not waited for until they are made.
func TestListsThatNobodyWaitsForDelayNoEnd(t *testing.T) {
	p := newPlayer(t, `{"turns":[]}`)
	project := filepath.Join(os.Getenv("HOME"), ".claude", "projects", "-long")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	line := `{"type":"user","cwd":"/long","message":{"role":"user","content":"` + strings.Repeat("word ", 20) + `"}}` + "\n"
	for n := range 60 {
		name := fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", n)
		if err := os.WriteFile(filepath.Join(project, name), []byte(strings.Repeat(line, 2000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.call("initialize", `{"protocolVersion":1}`)
	began := time.Now()
	p.call("session/list", `{}`)
	one := time.Since(began)
	const pending = 500
	for range pending {
		p.request("session/list", `{}`)
	}
	began = time.Now()
	p.close()
	if took, all := time.Since(began), pending*one/2; took > all/4 {
		t.Errorf("it took %v to end; one list takes %v, so all would take %v", took, one, all)
	}
}
