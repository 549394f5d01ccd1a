package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// badEnv makes the test binary a stdio server that misbehaves in one way.
const badEnv = "MCP_TEST_BAD"

// A bad server answers as a good one does, but for its mode.
type bad struct {
	mode  string
	in    *bufio.Reader
	mu    sync.Mutex
	out   io.Writer
	lists int
	calls int
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

func badServer(mode string) int {
	b := &bad{mode: mode, in: bufio.NewReaderSize(os.Stdin, 1<<20), out: os.Stdout}
	if code := b.begin(); code >= 0 {
		return code
	}
	for {
		line, err := b.in.ReadBytes('\n')
		if err != nil {
			return b.end()
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			fmt.Fprintln(os.Stderr, "cannot read", string(line))
			continue
		}
		if code := b.answer(m); code >= 0 {
			return code
		}
	}
}

// begin is what a mode does before the first message; -1 continues.
func (b *bad) begin() int {
	switch b.mode {
	case "noise at start":
		fmt.Println("Server v1.0 listening on stdio")
		fmt.Println("[INFO] ready {not json}")
	case "byte order mark":
		fmt.Print("\ufeff")
	case "exits at start":
		fmt.Fprintln(os.Stderr, "Error: API_KEY environment variable is required")
		return 3
	case "exits at start without a word":
		return 0
	case "never answers":
		time.Sleep(time.Hour)
	case "speaks with headers":
		fmt.Print("Content-Length: 38\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"x\"}Content-Length: 5\r\n\r\n")
		time.Sleep(time.Hour)
	case "floods stderr":
		go func() {
			line := strings.Repeat("x", 1000) + "\n"
			for range 20_000 {
				os.Stderr.WriteString(line)
			}
		}()
	case "ignores the end of input and SIGTERM":
		signal.Ignore(syscall.SIGTERM)
	case "leaves a grandchild", "leaves a grandchild in another session":
		cmd := exec.Command("sleep", "3600")
		if b.mode != "leaves a grandchild" {
			ownSession(cmd)
		}
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Fprintln(os.Stderr, "grandchild", cmd.Process.Pid)
	}
	return -1
}

// end is what a mode does at the end of its input.
func (b *bad) end() int {
	switch b.mode {
	case "ignores the end of input and SIGTERM", "ignores the end of input":
		time.Sleep(time.Hour)
	}
	return 0
}

func (b *bad) send(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ending := "\n"
	if b.mode == "ends lines with CRLF" {
		ending = "\r\n"
	}
	io.WriteString(b.out, text+ending)
}

func (b *bad) result(id json.RawMessage, result string) {
	if b.mode == "sends ids back as text" {
		id = json.RawMessage(`"` + string(id) + `"`)
	}
	b.send(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`)
}

func (b *bad) fail(id json.RawMessage, code int, text string) {
	b.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text))
}

const badInfo = `"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"bad","version":"1"}`

func (b *bad) answer(m message) int {
	switch m.Method {
	case "server/discover":
		return b.discover(m)
	case "initialize":
		switch b.mode {
		case "speaks an unknown revision":
			b.result(m.ID, `{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"bad","version":"1"}}`)
			return -1
		case "knows the newer era only":
			b.fail(m.ID, -32601, "initialize is gone")
			return -1
		case "refuses initialize":
			b.fail(m.ID, -32603, "licence expired")
			return -1
		case "is silent on initialize":
			return -1
		case "closes its output":
			os.Stdout.Close()
			fmt.Fprintln(os.Stderr, "broken pipe soon")
			time.Sleep(time.Hour)
		}
		b.result(m.ID, `{`+badInfo+`}`)
	case "tools/list":
		b.list(m)
	case "tools/call":
		return b.call(m)
	case "ping":
		b.result(m.ID, `{}`)
	default:
		if m.ID != nil {
			b.fail(m.ID, -32601, "method not found: "+m.Method)
		}
	}
	return -1
}

func (b *bad) discover(m message) int {
	switch b.mode {
	case "is silent on discover":
	case "knows the newer era only":
		b.result(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	case "exits on discover":
		fmt.Fprintln(os.Stderr, "unknown method, giving up")
		return 1
	case "answers discover with an odd code":
		b.fail(m.ID, -1, "what?")
	case "answers discover with garbage":
		b.send("Traceback (most recent call last):")
		b.fail(m.ID, -32603, "KeyError: 'server/discover'")
	case "answers discover with an empty result":
		b.result(m.ID, `{}`)
	case "refuses with an error that is a text":
		b.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":"nope"}`)
	default:
		b.fail(m.ID, -32601, "method not found")
	}
	return -1
}

const goodTool = `{"name":"echo","description":"Echoes.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`

func (b *bad) list(m message) {
	b.lists++
	tools := goodTool
	switch b.mode {
	case "has a tool without a schema":
		tools += `,{"name":"broken","inputSchema":null},{"name":5,"inputSchema":{"type":"object"}},null,{"name":"array","inputSchema":{"type":"array"}}`
	case "has tools of the same name":
		tools += `,` + goodTool + `,{"name":"a.b","inputSchema":{"type":"object"}},{"name":"a/b","inputSchema":{"type":"object"}}`
	case "hides text in a description":
		tools = `{"name":"echo","description":"Echoes.\u200b\udb40\udc41","inputSchema":{"type":"object"}}`
	case "has a schema of alternatives":
		tools += `,{"name":"either","inputSchema":{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}}}]}}`
	case "has a schema from the network":
		tools += `,{"name":"far","inputSchema":{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:1/schema.json"}}}}`
	case "has five thousand tools":
		var s strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&s, `,{"name":"tool%04d","inputSchema":{"type":"object"}}`, i)
		}
		tools += s.String()
	case "has pages without end":
		b.result(m.ID, `{"tools":[],"nextCursor":"`+m.Params.Cursor+`x"}`)
		return
	case "repeats its cursor":
		b.result(m.ID, `{"tools":[`+goodTool+`],"nextCursor":"same"}`)
		return
	case "refuses to list":
		b.fail(m.ID, -32603, "database is locked")
		return
	case "fails the second list":
		if b.lists > 1 {
			b.fail(m.ID, -32603, "busy")
			return
		}
	}
	if b.mode == "closes its input" {
		fmt.Fprintln(os.Stderr, "not listening")
		os.Stdin.Close()
		defer time.Sleep(time.Hour)
	}
	b.result(m.ID, `{"tools":[`+tools+`]}`)
}

// ask sends the client the request in a call's arguments and returns the answer.
func (b *bad) ask(args json.RawMessage) string {
	var request struct{ Method, Params json.RawMessage }
	_ = json.Unmarshal(args, &request)
	b.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q","method":%s,"params":%s}`, request.Method, request.Params))
	for {
		line, err := b.in.ReadBytes('\n')
		if err != nil || strings.Contains(string(line), `"id":"q"`) {
			var answer struct {
				Result json.RawMessage
				Error  *struct{ Message string }
			}
			_ = json.Unmarshal(line, &answer)
			if answer.Error != nil {
				return "refused: " + answer.Error.Message
			}
			return string(answer.Result)
		}
	}
}

func (b *bad) call(m message) int {
	b.calls++
	text := func(s string) string {
		raw, _ := json.Marshal(s)
		return `{"content":[{"type":"text","text":` + string(raw) + `}]}`
	}
	ok := text("echo " + string(m.Params.Arguments))
	switch b.mode {
	case "noise between messages":
		b.send("DEBUG handling call")
		b.send(`{"level":"info","msg":"a structured log line"}`)
	case "an error without an id":
		b.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
	case "blank lines":
		b.send("")
		b.send("   ")
	case "answers twice and to nobody":
		b.result(m.ID, ok)
		b.result(json.RawMessage("98765"), ok)
	case "bad UTF-8":
		b.send("\xff\xfe\xfa")
		ok = "{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}"
	case "crashes in a call":
		fmt.Fprintln(os.Stderr, "fatal: segfault in tool")
		return 2
	case "crashes in the first call":
		if _, err := os.Stat(os.Getenv("MCP_TEST_MARK")); err != nil {
			os.WriteFile(os.Getenv("MCP_TEST_MARK"), nil, 0o600)
			fmt.Fprintln(os.Stderr, "fatal: first call")
			return 2
		}
	case "is killed in a call":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
	case "a result of ten megabytes":
		ok = text(strings.Repeat("a", 10<<20))
	case "a result that is too long":
		if b.calls == 1 {
			ok = text(strings.Repeat("a", 3<<20))
		}
	case "never answers a call":
		return -1
	case "progress without end":
		go func() {
			for i := range 1000 {
				b.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":1000,"message":"step"}}`, m.Params.Meta.Token, i))
				time.Sleep(5 * time.Millisecond)
			}
		}()
		return -1
	case "progress":
		for i := range 4 {
			b.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":4}}`, m.Params.Meta.Token, i+1))
		}
	case "answers in a batch":
		b.send(`[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}},{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + ok + `}]`)
		return -1
	case "an answer with neither result nor error":
		b.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":null}`)
		return -1
	case "an answer that is cut":
		b.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[{"type":"te`)
		return -1
	case "an answer that is nested without end":
		ok = `{"content":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	case "both a result and an error":
		b.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + ok + `,"error":{"code":-5,"message":"undecided"}}`)
		return -1
	case "a log line with the call's id":
		b.send(`{"level":"debug","id":` + string(m.ID) + `}`)
	case "an error result":
		ok = `{"isError":true,"content":[{"type":"text","text":"no such city"}]}`
	case "an error":
		b.fail(m.ID, -32000, "quota exceeded")
		return -1
	case "a result that is null":
		ok = `null`
	case "a result that is a list":
		ok = `[]`
	case "unknown content":
		ok = `{"content":[{"type":"hologram","data":"zzz"},{"type":"text","text":"seen"},5,{"type":"image","data":"!!!","mimeType":"image/png"}]}`
	case "structured content only":
		ok = `{"content":[],"structuredContent":{"n":1}}`
	case "structured content twice":
		ok = `{"content":[{"type":"text","text":"{ \"n\": 1.0 }"}],"structuredContent":{"n":1}}`
	case "structured content around the text":
		ok = `{"content":[{"type":"text","text":"a\nb\n"}],"structuredContent":{"content":"a\nb\n"}}`
	case "structured content beside text":
		ok = `{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}`
	case "a storm of changes":
		for range 1000 {
			b.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	case "fails the second list":
		b.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	case "counts lists":
		ok = text(fmt.Sprint(b.lists))
	case "asks the client":
		ok = text(b.ask(m.Params.Arguments))
	case "asks what nobody knows":
		b.send(`{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
		b.send(`{"jsonrpc":"2.0","id":"q2","method":"nobody/knows"}`)
	case "environment":
		ok = text(strings.Join(os.Environ(), "\n"))
	}
	if strings.HasPrefix(b.mode, "a storm") {
		defer func() { b.mode = "counts lists" }()
	}
	b.result(m.ID, ok)
	return -1
}
