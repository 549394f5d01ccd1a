package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/tool"
)

// servers is a node_modules with the official servers.
func servers(t *testing.T) string {
	t.Helper()
	const version = "@2026.8.31"
	dir := needtest.NPM(t, "@modelcontextprotocol/server-everything"+version, "@modelcontextprotocol/server-filesystem"+version, "@modelcontextprotocol/server-memory"+version)
	return filepath.Join(dir, "node_modules")
}

// A script uses everything that a server has and writes down what comes back.
type script struct {
	t    *testing.T
	host *mcp.Host
	out  strings.Builder
}

func (s *script) line(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// call calls a tool and writes its result down.
func (s *script) call(server, name, input string) {
	s.t.Helper()
	var mu sync.Mutex
	progress := 0
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	r, err := s.host.Call(ctx, server, name, &tool.Call{Input: json.RawMessage(input), Progress: func(tool.Progress) {
		mu.Lock()
		defer mu.Unlock()
		progress++
	}})
	s.line("== call %s %s", name, input)
	if err != nil {
		s.line("error: %v", err)
		return
	}
	for _, b := range r.Content {
		switch b.Type {
		case tool.TextBlock:
			s.line("%s", b.Text)
		default:
			s.line("<%s %s, %d bytes>", b.Type, b.MediaType, len(b.Data))
		}
	}
	if out := r.Output.(mcp.Output); out.Structured != nil {
		s.line("structured: %s", out.Structured)
	}
	if r.Failed {
		s.line("(failed)")
	}
	mu.Lock()
	defer mu.Unlock()
	if progress > 0 {
		s.line("(%d reports of progress)", progress)
	}
}

// golden compares what was written down with a file, whatever differs from run
// to run taken out.
func (s *script) golden(name string, replace ...string) {
	s.t.Helper()
	text := strings.NewReplacer(replace...).Replace(s.out.String())
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	golden.Check(s.t, filepath.Join("testdata", name+".golden"), text)
}

var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{1,2}:\d\d:\d\d( [AP]M)?`), "TIME"},
	{regexp.MustCompile(`(created|modified|accessed): .*`), "$1: TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`), "UUID"},
}

// everything is what the test answers to server-everything.
func everything() *mcp.Options {
	return &mcp.Options{
		Roots: []string{"/srv/project"},
		Elicit: func(_ context.Context, e mcp.Elicitation) (mcp.Answer, error) {
			if e.Mode == "url" {
				return mcp.Answer{Action: "decline"}, nil
			}
			return mcp.Answer{Action: "accept", Content: json.RawMessage(`{"name":"Ada","check":true,"email":"ada@example.com","integer":7,"number":3.5,"firstLine":"x","color":"Red"}`)}, nil
		},
		Sampling: &mcp.Sampling{
			Consent: func(context.Context, string) (bool, error) { return true, nil },
			Create: func(_ context.Context, r mcp.SamplingRequest) (mcp.SamplingResult, error) {
				return mcp.SamplingResult{Model: "test-model", StopReason: "endTurn", Content: json.RawMessage(`{"type":"text","text":"sampled"}`)}, nil
			},
		},
		StartTimeout: 25 * time.Second,
	}
}

func (s *script) everything() {
	h, t := s.host, s.t
	deadline := time.Now().Add(10 * time.Second)
	for len(h.Tools()) < 17 && time.Now().Before(deadline) { // some join after the handshake
		time.Sleep(20 * time.Millisecond)
	}
	status := h.Status()[0]
	s.line("%s %s", status.Info.Name, status.Protocol)
	for _, tl := range h.Tools() {
		s.line("tool %s", tl.Name)
	}
	s.call("e", "echo", `{"message":"hi"}`)
	s.call("e", "get-sum", `{"a":2,"b":40}`)
	s.call("e", "get-tiny-image", `{}`)
	s.call("e", "get-annotated-message", `{"messageType":"error","includeImage":true}`)
	s.call("e", "get-structured-content", `{"location":"New York"}`)
	s.call("e", "trigger-url-elicitation", `{}`)
	s.call("e", "get-resource-reference", `{"resourceType":"Text","resourceId":1}`)
	s.call("e", "get-resource-links", `{"count":2}`)
	s.call("e", "get-roots-list", `{}`)
	s.call("e", "trigger-long-running-operation", `{"duration":0.4,"steps":4}`)
	s.call("e", "trigger-sampling-request", `{"prompt":"say it","maxTokens":10}`)
	s.call("e", "trigger-elicitation-request", `{}`)
	s.call("e", "echo", `{"message":5}`)
	s.call("e", "simulate-research-query", `{"topic":"hafts"}`)
	for end := time.Now().Add(5 * time.Second); len(h.Prompts()) == 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	for _, p := range h.Prompts() {
		s.line("prompt %s %d arguments", p.Command, len(p.Arguments))
	}
	messages, err := h.GetPrompt(t.Context(), "mcp__e__args-prompt", map[string]string{"city": "Ulm", "state": "BW"})
	s.line("== prompt args-prompt: %s %v", encode(messages), err)
	values, more, err := h.Complete(t.Context(), mcp.Completion{Server: "e", Prompt: "completable-prompt", Argument: "department", Value: "E"})
	s.line("== complete department E: %v %v %v", values, more, err)
	resources, err := h.Resources(t.Context(), "e")
	for _, r := range resources {
		s.line("resource %s template=%v", r.URI, r.Template)
	}
	if err == nil && len(resources) > 0 {
		contents, err := h.ReadResource(t.Context(), "e", resources[0].URI)
		s.line("== read %s: %d contents %v", resources[0].URI, len(contents), err)
	}
	_, err = h.ReadResource(t.Context(), "e", "demo://nothing/here")
	s.line("== read nothing: %v", err)
}

func encode(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func TestServerEverything(t *testing.T) {
	t.Parallel()
	modules := servers(t)
	program := filepath.Join(modules, "@modelcontextprotocol/server-everything/dist/index.js")
	for _, transport := range []string{"stdio", "streamableHttp", "sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			entry := mcp.Server{Name: "e", Command: "node", Args: []string{program, "stdio"}}
			if transport != "stdio" {
				entry = mcp.Server{Name: "e", Type: mcp.HTTP, URL: startHTTP(t, program, transport)}
			}
			h := newHost(t, everything())
			h.Start([]mcp.Server{entry})
			wait(t, h)
			if s := h.Status()[0]; s.State != mcp.Connected {
				t.Fatalf("%s: %s, steps %q", s.State, s.Error, s.Steps)
			}
			s := &script{t: t, host: h}
			s.everything()
			s.golden("everything")
		})
	}
}

// startHTTP starts server-everything on a free port of this machine.
func startHTTP(t *testing.T, program, transport string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command("node", program, transport)
	cmd.Env = append(os.Environ(), fmt.Sprint("PORT=", port))
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	go func() {
		for scanner := bufio.NewScanner(errs); scanner.Scan(); {
		}
	}()
	address := fmt.Sprint("127.0.0.1:", port)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal("server-everything does not listen")
		}
	}
	path := "/mcp"
	if transport == "sse" {
		path = "/sse"
	}
	return "http://" + address + path
}

func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	modules := servers(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\nbeta\n"), 0o644)
	h := newHost(t, &mcp.Options{Roots: []string{dir}, StartTimeout: 25 * time.Second})
	h.Start([]mcp.Server{{Name: "fs", Command: "node", Args: []string{filepath.Join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}}})
	wait(t, h)
	s := &script{t: t, host: h}
	for _, tl := range h.Status()[0].Tools {
		s.line("tool %s %s", tl.Offered, encode(tl.Annotations))
	}
	s.call("fs", "read_text_file", `{"path":"`+dir+`/a.txt"}`)
	s.call("fs", "write_file", `{"path":"`+dir+`/b.txt","content":"new"}`)
	s.call("fs", "edit_file", `{"path":"`+dir+`/a.txt","edits":[{"oldText":"beta","newText":"gamma"}]}`)
	s.call("fs", "list_directory", `{"path":"`+dir+`"}`)
	s.call("fs", "search_files", `{"path":"`+dir+`","pattern":"*.txt"}`)
	s.call("fs", "read_text_file", `{"path":"/etc/passwd"}`)
	s.call("fs", "read_text_file", `{"path":"`+dir+`/none"}`)
	s.call("fs", "list_allowed_directories", `{}`)
	s.golden("filesystem", dir, "DIR")
}

func TestServerMemory(t *testing.T) {
	t.Parallel()
	modules := servers(t)
	h := newHost(t, &mcp.Options{StartTimeout: 25 * time.Second})
	h.Start([]mcp.Server{{
		Name: "mem", Command: "node", Args: []string{filepath.Join(modules, "@modelcontextprotocol/server-memory/dist/index.js")},
		Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.json")},
	}})
	wait(t, h)
	s := &script{t: t, host: h}
	names := []string{}
	for _, tl := range h.Tools() {
		names = append(names, tl.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("tools are not sorted: %q", names)
	}
	s.line("%s", strings.Join(names, " "))
	s.call("mem", "create_entities", `{"entities":[{"name":"haft","entityType":"tool","observations":["holds"]}]}`)
	s.call("mem", "add_observations", `{"observations":[{"entityName":"haft","contents":["sharp"]}]}`)
	s.call("mem", "read_graph", `{}`)
	s.call("mem", "search_nodes", `{"query":"sharp"}`)
	s.call("mem", "add_observations", `{"observations":[{"entityName":"nobody","contents":["x"]}]}`)
	s.call("mem", "delete_entities", `{"entityNames":["haft"]}`)
	s.call("mem", "read_graph", `{}`)
	s.golden("memory")
}
