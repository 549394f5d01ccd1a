//go:build unix

package cli_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/model/script"
)

// A dialogue is haft -p, a model that is a function, and MCP servers of this test.
type dialogue struct {
	t       *testing.T
	home    string
	project string
	model   *script.Server
}

func newDialogue(t *testing.T, answer script.AnswerFunc) *dialogue {
	t.Helper()
	base := t.TempDir()
	d := &dialogue{t: t, home: filepath.Join(base, "home"), project: filepath.Join(base, "project")}
	for _, dir := range []string{filepath.Join(d.home, ".haft"), d.project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.model = scriptedBy(t, answer)
	return d
}

// settings sets the user's settings.
func (d *dialogue) settings(text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.home, ".haft", "settings.json"), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// run runs haft and returns its output and its remarks; it must succeed.
func (d *dialogue) run(args ...string) (out, errs string) {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), haftCommand(d.t), args...)
	cmd.Dir, cmd.WaitDelay = d.project, time.Second
	cmd.Env = append(bareEnv(d.home), "ANTHROPIC_BASE_URL="+d.model.URL(), "ANTHROPIC_API_KEY=scripted", "IS_SANDBOX=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		d.t.Fatalf("haft %v: %v\n%s%.3000s", args, err, stderr.String(), stdout.String())
	}
	return stdout.String(), stderr.String()
}

// ask runs haft -p and returns the lines of its wire.
func (d *dialogue) ask(more ...string) (lines []string, errs string) {
	d.t.Helper()
	out, errs := d.run(append([]string{"-p", "hello", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"}, more...)...)
	scan := bufio.NewScanner(strings.NewReader(out))
	scan.Buffer(nil, 256<<20)
	for scan.Scan() {
		lines = append(lines, scan.Text())
	}
	return lines, errs
}

// A door holds requests back while it is shut; nil holds back none.
type door struct {
	mu     sync.Mutex
	opened chan struct{} // closed when it is open
}

func newDoor() *door { return &door{opened: make(chan struct{})} }

func (d *door) state() chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened = make(chan struct{})
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-d.opened:
	default:
		close(d.opened)
	}
}

func (d *door) isOpen() bool {
	select {
	case <-d.state():
		return true
	default:
		return false
	}
}

// serveTools serves an MCP server over HTTP, behind a door.
func serveTools(t *testing.T, name string, behind *door) (*sdk.Server, string) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, nil)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if behind != nil {
			select {
			case <-behind.state():
			case <-r.Context().Done():
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return server, web.URL
}

// offer adds a tool that answers with a text.
func offer(s *sdk.Server, name, schema, answer string) {
	s.AddTool(&sdk.Tool{Name: name, Description: "The tool " + name, InputSchema: json.RawMessage(schema)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(answer), nil
	})
}

func say(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// use is a turn that calls a tool; through is one that does it through the door, as the
// model is told to call what its request does not describe.
func use(tool, input string) script.Turn {
	return script.Turn{Blocks: []script.Block{{Tool: tool, Input: json.RawMessage(input)}}}
}

func through(tool, input string) script.Turn {
	return use("CallTool", fmt.Sprintf(`{"tool":%q,"input":%s}`, tool, input))
}

var done = script.Turn{Blocks: []script.Block{{Text: "done"}}}

// prefix is what a provider caches of a request before the messages.
func prefix(t *testing.T, r *script.Request) string {
	t.Helper()
	var body struct {
		Tools  json.RawMessage `json:"tools"`
		System json.RawMessage `json:"system"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Tools) + string(body.System)
}

const anyObject = `{"type":"object"}`

// TestToolsChangeWithinATurn: what a server adds, what a late server brings and a changed
// schema count at the next request, and what the provider has cached stays.
func TestToolsChangeWithinATurn(t *testing.T) {
	gate := newDoor()
	late, lateURL := serveTools(t, "late", gate)
	offer(late, "hello", anyObject, "hello from late")
	shop, shopURL := serveTools(t, "shop", nil)
	offer(shop, "price", anyObject, "cheap")
	shop.AddTool(&sdk.Tool{Name: "grow", InputSchema: json.RawMessage(anyObject)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		offer(shop, "grown", anyObject, "grown indeed")
		offer(shop, "price", `{"type":"object","properties":{"currency":{"type":"string"}},"required":["currency"]}`, "three euros")
		return say("something has grown"), nil
	})
	var mu sync.Mutex
	step, waited := 0, 0
	// Each step waits for the sign that the model gets, as a model would.
	steps := []struct {
		sign string
		turn script.Turn
	}{
		{"", use("mcp__shop__grow", `{}`)},
		{"mcp__shop__grown", through("mcp__shop__grown", `{}`)},
		{"grown indeed", through("mcp__shop__price", `{}`)},
		{"currency", through("mcp__shop__price", `{"currency":"EUR"}`)},
		{"three euros", use("Glob", `{"pattern":"*"}`)},
		{"mcp__late__hello", through("mcp__late__hello", `{}`)},
		{"hello from late", done},
	}
	d := newDialogue(t, func(r *script.Request) script.Turn {
		mu.Lock()
		defer mu.Unlock()
		s := steps[min(step, len(steps)-1)]
		if !bytes.Contains(r.Body, []byte(s.sign)) {
			if waited++; waited > 100 {
				return done
			}
			time.Sleep(20 * time.Millisecond) // the server's list is fetched after a burst of changes
			return use("Glob", fmt.Sprintf(`{"pattern":"no-%d"}`, waited))
		}
		step++
		if step == 5 {
			gate.open()
		}
		return s.turn
	})
	d.settings(`{"mcp":{"wait":500}}`)
	d.run("mcp", "add", "shop", shopURL)
	d.run("mcp", "add", "late", lateURL)
	d.ask()
	mu.Lock()
	defer mu.Unlock()
	if step != len(steps) {
		requests := d.model.Requests()
		t.Fatalf("the model did not get %q: %s", steps[step].sign, requests[len(requests)-1].Body)
	}
	requests := d.model.Requests()
	for i, r := range requests {
		if prefix(t, r) != prefix(t, requests[0]) {
			t.Errorf("request %d has other tools or another system prompt than the first", i+1)
		}
	}
}

// TestToolsOfLastTimeAreOfferedAtOnce: a server whose tools are known holds nothing up, and
// the call waits for it.
func TestToolsOfLastTimeAreOfferedAtOnce(t *testing.T) {
	gate := newDoor()
	server, url := serveTools(t, "slow", gate)
	offer(server, "hello", anyObject, "hello from slow")
	var cached atomic.Bool // its tools are known, from an earlier run
	d := newDialogue(t, func(r *script.Request) script.Turn {
		if r.Turn > 0 {
			return done
		}
		if cached.Load() {
			if gate.isOpen() {
				t.Error("the first request came after the server")
			}
			time.AfterFunc(300*time.Millisecond, gate.open) // while the call waits
		}
		return use("mcp__slow__hello", `{}`)
	})
	d.run("mcp", "add", "slow", url)
	for _, known := range []bool{false, true} {
		cached.Store(known)
		gate.shut()
		if !known {
			time.AfterFunc(1500*time.Millisecond, gate.open)
		}
		lines, errs := d.ask()
		if waited := strings.Contains(errs, "haft: waiting for the MCP servers slow, at most 10s"); waited == known {
			t.Errorf("known %v: waited %v: %s", known, waited, errs)
		}
		if !strings.Contains(strings.Join(lines, "\n"), "hello from slow") {
			t.Errorf("known %v: the call did not succeed: %s", known, lines)
		}
	}
}

// TestBigAndOddResults: ten megabytes are not on the wire, the whole is where Read can read
// it, files are saved and named, and an image is not repeated as text.
func TestBigAndOddResults(t *testing.T) {
	const size = 10 << 20
	big := strings.Repeat("0123456789abcde\n", size/16)
	server, url := serveTools(t, "odd", nil)
	offer(server, "big", anyObject, big)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 300, 300))); err != nil {
		t.Fatal(err)
	}
	shown := &sdk.ImageContent{MIMEType: "image/png", Data: picture.Bytes()}
	server.AddTool(&sdk.Tool{Name: "read_media_file", InputSchema: json.RawMessage(anyObject)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{shown}, StructuredContent: map[string]any{"content": []any{shown}, "name": "p.png"}}, nil
	})
	server.AddTool(&sdk.Tool{Name: "sound", InputSchema: json.RawMessage(anyObject)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF....WAVEfmt ")}}}, nil
	})
	whole := regexp.MustCompile(`The whole result is in ([^ ]+\.txt)\.`)
	saved := regexp.MustCompile(`audio/wav, 16 bytes; saved in ([^ \]]+\.wav)`)
	var path string
	d := newDialogue(t, func(r *script.Request) script.Turn {
		switch r.Turn {
		case 0:
			return use("mcp__odd__big", `{}`)
		case 1:
			if m := whole.FindSubmatch(r.Body); m != nil {
				path = string(m[1])
			}
			return use("Read", fmt.Sprintf(`{"file_path":%q,"offset":600000,"limit":2}`, path))
		case 2:
			return use("mcp__odd__sound", `{}`)
		case 3:
			return use("mcp__odd__read_media_file", `{}`)
		}
		return done
	})
	d.run("mcp", "add", "odd", url)
	lines, _ := d.ask()
	if kept, err := os.ReadFile(path); err != nil || string(kept) != big {
		t.Fatalf("the whole is not in %q: %d bytes, %v", path, len(kept), err)
	}
	total := 0
	for _, line := range lines {
		if total += len(line); len(line) > 300_000 {
			t.Errorf("a line of the wire has %d bytes: %.200s", len(line), line)
		}
	}
	wire := strings.Join(lines, "\n")
	for _, want := range []string{"bytes, cut here: the whole result is in " + path, "600000\\t0123456789abcde"} {
		if !strings.Contains(wire, want) {
			t.Errorf("the wire does not have %q", want)
		}
	}
	requests := d.model.Requests()
	last := string(requests[len(requests)-1].Body)
	m := saved.FindStringSubmatch(last)
	if m == nil {
		t.Fatalf("the sound was not saved: %s", last[strings.Index(last, `"messages":`):])
	}
	if data, err := os.ReadFile(m[1]); err != nil || string(data) != "RIFF....WAVEfmt " {
		t.Errorf("%s: %q, %v", m[1], data, err)
	}
	raw, err := json.Marshal(picture.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(last, strings.Trim(string(raw), `"`)); n != 1 || !strings.Contains(last, "bytes of the image above") {
		t.Errorf("the model has the image %d times", n)
	}
	t.Logf("%d bytes on the wire", total)
}

// TestACallThatWantsAUserIsNotMadeWithoutOne: no mode and no rule answers in the user's place.
func TestACallThatWantsAUserIsNotMadeWithoutOne(t *testing.T) {
	server, url := serveTools(t, "bank", nil)
	called := make(chan struct{}, 1)
	server.AddTool(&sdk.Tool{Name: "pay", Meta: sdk.Meta{"anthropic/requiresUserInteraction": true}, InputSchema: json.RawMessage(anyObject)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		called <- struct{}{}
		return say("paid"), nil
	})
	d := newDialogue(t, func(r *script.Request) script.Turn {
		if r.Turn == 0 {
			return use("mcp__bank__pay", `{}`)
		}
		return done
	})
	d.run("mcp", "add", "bank", url)
	lines, _ := d.ask("--allowedTools", "mcp__bank__pay")
	if wire := strings.Join(lines, "\n"); len(called) != 0 || !strings.Contains(wire, "requires the user to approve each call to pay") {
		t.Errorf("called %d times: %s", len(called), wire)
	}
}

// TestABundleIsSetUp: what a bundle brings runs, with what the user sets.
func TestABundleIsSetUp(t *testing.T) {
	d := newDialogue(t, func(r *script.Request) script.Turn {
		if r.Turn == 0 {
			return use("mcp__reader__Read", `{"file_path":"a.txt"}`)
		}
		return done
	})
	manifest := `{"manifest_version":"0.3","name":"reader","version":"1","server":{"type":"binary","mcp_config":{"command":"sh",
		"args":["-c","cd \"$1\" && exec \"$2\" mcp serve --tools Read","sh","${user_config.folder}","${user_config.haft}"]}},
		"user_config":{"folder":{"type":"directory","required":true},"haft":{"type":"file","required":true}}}`
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(manifest)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for path, text := range map[string][]byte{filepath.Join(d.project, "reader.mcpb"): packed.Bytes(), filepath.Join(folder, "a.txt"): []byte("read by a bundle")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.run("mcp", "add", "reader.mcpb", "--config", "folder="+folder, "--config", "haft="+haftCommand(t))
	lines, _ := d.ask()
	if wire := strings.Join(lines, "\n"); !strings.Contains(wire, "read by a bundle") {
		t.Error(wire)
	}
}

// TestASchemaOfAServerReachesTheModel: what it says below the top as it is, what it says at the top
// as far as the API takes it, and every alternative can be called.
func TestASchemaOfAServerReachesTheModel(t *testing.T) {
	const schema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"type":"object","properties":{"street":{"type":"string"}},"additionalProperties":false}},
		"properties":{"to":{"$ref":"#/$defs/address"},"more":{"allOf":[{"type":"object"},{"additionalProperties":{"anyOf":[{"type":"string"},{"type":"null"}]}}]}},
		"oneOf":[{"properties":{"op":{"const":"create"},"title":{"type":"string"}},"required":["op","title"]},{"properties":{"op":{"const":"delete"},"id":{"type":"integer"}},"required":["op","id"]}]}`
	const wanted = `{"$defs":{"address":{"additionalProperties":false,"properties":{"street":{"type":"string"}},"type":"object"}},"$schema":"https://json-schema.org/draft/2020-12/schema",` +
		`"description":"Required: op \"create\" and title, or op \"delete\" and id.","properties":{"id":{"type":"integer"},"more":{"allOf":[{"type":"object"},{"additionalProperties":{"anyOf":[{"type":"string"},{"type":"null"}]}}]},` +
		`"op":{"anyOf":[{"const":"create"},{"const":"delete"}]},"title":{"type":"string"},"to":{"$ref":"#/$defs/address"}},"required":["op"],"type":"object"}`
	server, url := serveTools(t, "issues", nil)
	var mu sync.Mutex
	var called []string
	server.AddTool(&sdk.Tool{Name: "change", InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		called = append(called, string(r.Params.Arguments))
		return say("changed"), nil
	})
	inputs := []string{`{"op":"create","title":"x"}`, `{"op":"delete","id":7,"to":{"street":"y"}}`, `{"op":"paint","id":7}`}
	d := newDialogue(t, func(r *script.Request) script.Turn {
		if r.Turn < len(inputs) {
			return use("mcp__issues__change", inputs[r.Turn])
		}
		return done
	})
	d.run("mcp", "add", "issues", url)
	d.ask()
	var body struct {
		Tools []struct {
			Name   string `json:"name"`
			Schema any    `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(d.model.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, tool := range body.Tools {
		if tool.Name == "mcp__issues__change" {
			text, _ := json.Marshal(tool.Schema)
			got = string(text)
		}
	}
	if got != wanted {
		t.Errorf("the model gets\n%s\nwant\n%s", got, wanted)
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Join(called, "\n") != strings.Join(inputs[:2], "\n") {
		t.Errorf("the server got %q", called)
	}
	if out, _ := d.run("mcp", "get", "issues", "--json"); !strings.Contains(out, `"oneOf"`) {
		t.Errorf("haft mcp get does not show the server's schema: %s", out)
	}
}

// TestAListOfServersThatHangEndsInTime: by the bound of an entry, and by that of the list.
func TestAListOfServersThatHangEndsInTime(t *testing.T) {
	gate := newDoor()
	_, url := serveTools(t, "deaf", gate)
	t.Cleanup(gate.open) // what still waits would keep the server from closing
	d := newDialogue(t, func(*script.Request) script.Turn { return done })
	d.run("mcp", "add", "deaf", url)
	d.run("mcp", "add-json", "brief", fmt.Sprintf(`{"type":"http","url":"%s/other","startTimeout":500}`, url))
	begin := time.Now()
	out, _ := d.run("mcp", "list")
	took := time.Since(begin)
	if took > 9*time.Second { // five, and what a busy machine adds
		t.Errorf("it took %s", took)
	}
	for _, want := range []string{"deaf: not connected after 5s", "brief: no connection within 500ms"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	t.Logf("it took %s", took)
}
