package interop_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/haftdev/haft/internal/sys/processgroup"
	"github.com/haftdev/haft/model/script"
)

// acpAdapter holds a session of the official ACP adapter with haft as its executable:
// it opens one, asks for permission, edits a file, and takes a second turn.
func acpAdapter(t *testing.T, at *place) {
	project := at.dir
	at.model(t,
		script.Turn{Blocks: []script.Block{{Text: "I write it."}, {Tool: "Write", Input: json.RawMessage(`{"file_path":"` + project + `/made.txt","content":"made\n"}`)}}},
		says("It is written."), says("The second answer."))
	at.env = append(at.env, "CLAUDE_CODE_EXECUTABLE="+at.haft)
	c := startACP(t, at.command(t, "node", filepath.Join(at.modules, "@agentclientprotocol/claude-agent-acp/dist/index.js")))
	c.call("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false}}}`)
	var opened struct {
		SessionID string `json:"sessionId"`
	}
	c.decode(c.call("session/new", `{"cwd":"`+project+`","mcpServers":[]}`), &opened)
	prompt := func(text string) (reason string) {
		var got struct {
			StopReason string `json:"stopReason"`
		}
		c.decode(c.call("session/prompt", `{"sessionId":"`+opened.SessionID+`","prompt":[{"type":"text","text":"`+text+`"}]}`), &got)
		return got.StopReason
	}
	if got := prompt("write it"); got != "end_turn" {
		t.Errorf("the first turn ended with %q", got)
	}
	if made, err := os.ReadFile(filepath.Join(project, "made.txt")); err != nil || string(made) != "made\n" {
		t.Errorf("the file has %q, %v", made, err)
	}
	if c.asked != 1 {
		t.Errorf("permission was asked for %d times, want once", c.asked)
	}
	if got := prompt("and again"); got != "end_turn" {
		t.Errorf("the second turn ended with %q", got)
	}
	if want := "I write it.It is written.The second answer."; c.said != want {
		t.Errorf("the agent said %q, want %q", c.said, want)
	}
}

// An acpClient speaks the editor's side of ACP, a line at a time.
type acpClient struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Scanner
	next  int
	asked int
	said  string
}

func startACP(t *testing.T, cmd *exec.Cmd) *acpClient {
	processgroup.Own(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()        // it ends with its input, or with the test
		processgroup.End(cmd) // it does not wait for haft
	})
	c := &acpClient{t: t, in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, 1<<24)
	return c
}

// call asks the agent for something, and answers what it asks meanwhile.
func (c *acpClient) call(method, params string) json.RawMessage {
	c.t.Helper()
	c.next++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": json.RawMessage(params)})
	for c.out.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		c.decode(c.out.Bytes(), &m)
		switch {
		case m.Method != "":
			c.heed(m.Method, m.ID, m.Params)
		case m.Error != nil:
			c.t.Fatalf("%s: %s", method, m.Error)
		default:
			return m.Result
		}
	}
	c.t.Fatalf("%s: the adapter ended: %v", method, c.out.Err())
	return nil
}

// heed notes what the agent says, and allows what it asks for.
func (c *acpClient) heed(method string, id, params json.RawMessage) {
	var p struct {
		Update struct {
			SessionUpdate string
			Content       json.RawMessage
		}
		Options []struct{ OptionID, Kind string }
	}
	c.decode(params, &p)
	switch method {
	case "session/update":
		var text struct{ Text string }
		if p.Update.SessionUpdate == "agent_message_chunk" {
			c.decode(p.Update.Content, &text)
			c.said += text.Text
		}
	case "session/request_permission":
		c.asked++
		for _, o := range p.Options {
			if o.Kind == "allow_once" {
				c.send(map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.OptionID}}})
				return
			}
		}
		c.t.Fatalf("nothing allows once in %s", params)
	default:
		if id != nil {
			c.send(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": -32601, "message": "not here"}})
		}
	}
}

func (c *acpClient) send(m any) {
	c.t.Helper()
	line, err := json.Marshal(m)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *acpClient) decode(raw []byte, into any) {
	c.t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		c.t.Fatalf("%v\n%s", err, raw)
	}
}
