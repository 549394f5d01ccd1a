//go:build unix

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var mcpEras = []string{"2025-11-25", "2026-07-28"}

// A served is a running "haft mcp serve" with a client of it.
type served struct {
	*sdk.ClientSession
	cmd   *exec.Cmd
	stdin io.Closer
	dir   string
}

// haftCommand is the command as scripts run it: this program, by its other name.
func haftCommand(t *testing.T) string {
	t.Helper()
	haft, err := exec.LookPath("haft")
	if err != nil {
		t.Fatal(err)
	}
	return haft
}

// serveMCP starts the server in a new folder, for a user with these settings.
func serveMCP(t *testing.T, haft, settings, era string, opts *sdk.ClientOptions) *served {
	t.Helper()
	base := t.TempDir()
	s := &served{dir: filepath.Join(base, "project")}
	for path, text := range map[string]string{
		filepath.Join(base, "home", ".haft", "settings.json"): settings,
		filepath.Join(s.dir, "a.txt"):                         "one\ntwo\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t, haft, bareEnv(filepath.Join(base, "home")), era, opts)
	return s
}

// again starts another server in the same folder, for the same person.
func (s *served) again(t *testing.T, haft string) *served {
	next := &served{dir: s.dir}
	next.start(t, haft, s.cmd.Env, mcpEras[0], nil)
	return next
}

func (s *served) start(t *testing.T, haft string, env []string, era string, opts *sdk.ClientOptions) {
	t.Helper()
	s.cmd = exec.Command(haft, "mcp", "serve")
	s.cmd.Dir, s.cmd.Stderr, s.cmd.Env = s.dir, os.Stderr, env
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	t.Cleanup(func() {
		stdin.Close()
		s.cmd.Wait()
	})
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, opts)
	transport := &sdk.IOTransport{Reader: stdout, Writer: stdin}
	if s.ClientSession, err = client.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era}); err != nil {
		t.Fatal(err)
	}
}

// agreeing is a client whose person allows everything.
func agreeing() *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
	}}
}

// startTree calls Bash with a command that has children, and returns their ids and
// the channel on which the call ends.
func (s *served) startTree(t *testing.T, ctx context.Context) ([]int, <-chan error) {
	t.Helper()
	ids := filepath.Join(s.dir, "ids")
	command := `sleep 1000 & echo $! > ids.tmp; (sleep 1001 & echo $! >> ids.tmp; wait) & sleep 0.2; echo $$ >> ids.tmp; mv ids.tmp ids; wait`
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{"command": command}})
		ended <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(ids)
		if err != nil {
			continue
		}
		var pids []int
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		return pids, ended
	}
	t.Fatal("the command did not start")
	return nil, nil
}

// gone waits for processes to end, and returns how long that took.
func gone(t *testing.T, pids []int) time.Duration {
	t.Helper()
	begin := time.Now()
	for time.Since(begin) < 5*time.Second {
		if !slices.ContainsFunc(pids, func(pid int) bool { return syscall.Kill(pid, 0) == nil }) {
			return time.Since(begin)
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("some of %v still run", pids)
	return 0
}

func TestMCPServerEndsProcessTrees(t *testing.T) {
	haft := haftCommand(t)
	for _, era := range mcpEras {
		t.Run("when the call is cancelled, "+era, func(t *testing.T) {
			s := serveMCP(t, haft, `{}`, era, agreeing())
			ctx, cancel := context.WithCancel(t.Context())
			pids, ended := s.startTree(t, ctx)
			cancel()
			if took := gone(t, pids); took > time.Second {
				t.Errorf("took %v", took)
			}
			<-ended
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "Glob", Arguments: map[string]any{"pattern": "*"}}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
		t.Run("when the client goes, "+era, func(t *testing.T) {
			s := serveMCP(t, haft, `{}`, era, agreeing())
			pids, _ := s.startTree(t, t.Context())
			s.stdin.Close()
			gone(t, pids)
		})
		t.Run("when the server is killed, "+era, func(t *testing.T) {
			s := serveMCP(t, haft, `{}`, era, agreeing())
			pids, _ := s.startTree(t, t.Context())
			s.cmd.Process.Kill()
			gone(t, pids)
		})
	}
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestMCPServerOverHTTP serves both eras at one address, to those who know the
// token, and ends on a signal with all that it runs.
func TestMCPServerOverHTTP(t *testing.T) {
	base := t.TempDir()
	s := &served{dir: filepath.Join(base, "project")}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(haftCommand(t), "mcp", "serve", "--http=127.0.0.1:0", "--json")
	cmd.Dir, cmd.Stderr = s.dir, io.Discard
	cmd.Env = bareEnv(filepath.Join(base, "home"), "HAFT_MCP_TOKEN=s3cret")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	var at struct{ URL string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err)
	}
	connect := func(rt http.RoundTripper, era string) (*sdk.ClientSession, error) {
		transport := &sdk.StreamableClientTransport{Endpoint: at.URL, HTTPClient: &http.Client{Transport: rt}}
		return sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, agreeing()).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: era})
	}
	if _, err := connect(http.DefaultTransport, mcpEras[0]); err == nil {
		t.Error("a client without the token was let in")
	}
	for _, era := range mcpEras {
		if s.ClientSession, err = connect(bearer("s3cret"), era); err != nil {
			t.Fatal(err)
		}
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{"command": "env"}})
		if err != nil || r.IsError {
			t.Fatalf("%v %+v", err, r)
		}
		if strings.Contains(r.Content[0].(*sdk.TextContent).Text, "s3cret") {
			t.Error("commands see the token")
		}
	}
	pids, _ := s.startTree(t, t.Context())
	cmd.Process.Signal(syscall.SIGTERM)
	if took := gone(t, pids); took > 3*time.Second {
		t.Errorf("the tree took %v", took)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestMCPServerMakesAToken starts a server as the help does, with the address as a
// word of its own and without a token: one is made, and without it nobody is let in,
// from this machine neither.
func TestMCPServerMakesAToken(t *testing.T) {
	for _, args := range [][]string{{"--http", "0.0.0.0:0"}, {"--http", "127.0.0.1:0"}, {"--http=127.0.0.1:0"}} {
		base := t.TempDir()
		cmd := exec.Command(haftCommand(t), slices.Concat([]string{"mcp", "serve", "--json"}, args)...)
		var said strings.Builder
		cmd.Dir, cmd.Stderr = base, &said
		cmd.Env = bareEnv(filepath.Join(base, "home"))
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var at struct{ URL, Token string }
		if err := json.NewDecoder(stdout).Decode(&at); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		url := strings.Replace(strings.Replace(at.URL, "[::]", "127.0.0.1", 1), "0.0.0.0", "127.0.0.1", 1)
		connect := func(rt http.RoundTripper) error {
			transport := &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: rt}}
			session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, agreeing()).Connect(t.Context(), transport, nil)
			if err == nil {
				session.Close()
			}
			return err
		}
		if err := connect(http.DefaultTransport); err == nil {
			t.Errorf("%q: a client without the token was let in", args)
		}
		if err := connect(bearer(at.Token)); err != nil || len(at.Token) < 20 {
			t.Errorf("%q: token %q: %v", args, at.Token, err)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if !strings.Contains(said.String(), "token for this run: "+at.Token) {
			t.Errorf("%q: the token is not printed: %s", args, said.String())
		}
	}
}

func TestMCPServerOffersEveryToolWhole(t *testing.T) {
	s := serveMCP(t, haftCommand(t), `{}`, mcpEras[1], nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	core, whole, names := 0, 0, []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Annotations == nil || tool.Annotations.DestructiveHint == nil || tool.Annotations.OpenWorldHint == nil || tool.OutputSchema == nil {
			t.Errorf("%s: annotations %+v, output schema %v", tool.Name, tool.Annotations, tool.OutputSchema)
		}
		raw, err := json.Marshal(tool)
		if err != nil {
			t.Fatal(err)
		}
		whole += len(raw)
		if slices.Contains([]string{"Bash", "Edit", "Glob", "Grep", "Read", "Write"}, tool.Name) {
			core += len(raw)
		}
	}
	want := []string{"Bash", "BashOutput", "Edit", "Glob", "Grep", "KillShell", "MultiEdit", "NotebookEdit", "Read", "Sleep", "WebFetch", "Write"}
	if !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	t.Logf("the core tools have %d bytes, all of them %d", core, whole)
	if core > 12<<10 || whole > 20<<10 {
		t.Errorf("the core tools have %d bytes, all of them %d", core, whole)
	}
}

func TestMCPServerStructuredContentFitsItsSchema(t *testing.T) {
	s := serveMCP(t, haftCommand(t), `{"permissions":{"defaultMode":"acceptEdits"}}`, mcpEras[1], nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(s.dir, "a.txt")
	for _, call := range []struct {
		tool  string
		input map[string]any
	}{
		{"Read", map[string]any{"file_path": file}},
		{"Edit", map[string]any{"file_path": file, "old_string": "two", "new_string": "three"}},
		{"Write", map[string]any{"file_path": filepath.Join(s.dir, "b.txt"), "content": "x\n"}},
		{"Grep", map[string]any{"pattern": "one"}},
		{"Glob", map[string]any{"pattern": "*.txt"}},
		{"Bash", map[string]any{"command": "ls"}},
		{"Sleep", map[string]any{"duration_ms": 1}},
	} {
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: call.tool, Arguments: call.input})
		if err != nil || r.IsError {
			t.Errorf("%s: %v %+v", call.tool, err, r)
			continue
		}
		i := slices.IndexFunc(list.Tools, func(tool *sdk.Tool) bool { return tool.Name == call.tool })
		raw, err := json.Marshal(list.Tools[i].OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(r.StructuredContent); err != nil {
			t.Errorf("%s: %v", call.tool, err)
		}
	}
}

// TestMCPServerStructuredContentIsForModels edits one line of a long file as a host does
// that gives its model nothing but the structured content.
func TestMCPServerStructuredContentIsForModels(t *testing.T) {
	s := serveMCP(t, haftCommand(t), `{"permissions":{"defaultMode":"acceptEdits"}}`, mcpEras[0], nil)
	file := filepath.Join(s.dir, "long.txt")
	var long strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&long, "line %d of a long file indeed\n", i+1)
	}
	if err := os.WriteFile(file, []byte(long.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(name string, input map[string]any) (map[string]any, int) {
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: input})
		if err != nil || r.IsError {
			t.Fatalf("%s: %v %+v", name, err, r)
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return r.StructuredContent.(map[string]any), len(raw)
	}
	read, _ := call("Read", map[string]any{"file_path": file, "offset": 600, "limit": 1})
	if text := read["text"].(string); !strings.HasPrefix(text, "600\tline 600 of") {
		t.Errorf("read %q", text)
	}
	if lines := read["file"].(map[string]any)["totalLines"]; lines != 1200.0 {
		t.Errorf("the file has %v lines", lines)
	}
	edited, size := call("Edit", map[string]any{"file_path": file, "old_string": "line 600 of", "new_string": "line six hundred of"})
	if text := edited["text"].(string); !strings.Contains(text, "-line 600 of a long file indeed\n+line six hundred of a long file indeed\n") {
		t.Errorf("edited %q", text)
	}
	if size > 2000 || edited["filePath"] != file || len(edited) != 2 {
		t.Errorf("an edit of one line takes %d bytes: %v", size, edited)
	}
	ran, _ := call("Bash", map[string]any{"command": "ls"})
	if want := map[string]any{"text": "a.txt\nlong.txt", "exitCode": 0.0}; !maps.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

// TestMCPServerOffersToolsOnly asks for what the server did not declare.
func TestMCPServerOffersToolsOnly(t *testing.T) {
	s := serveMCP(t, haftCommand(t), `{}`, mcpEras[0], nil)
	var refused *jsonrpc.Error
	if _, err := s.ListPrompts(t.Context(), nil); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("prompts: %v", err)
	}
	if _, err := s.ListResources(t.Context(), nil); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("resources: %v", err)
	}
	if err := s.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestMCPServerSaysHowToAllow does what a denial says: its commands, and a new start.
func TestMCPServerSaysHowToAllow(t *testing.T) {
	haft := haftCommand(t)
	s := serveMCP(t, haft, `{}`, mcpEras[0], nil)
	touch := &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{"command": "touch made"}}
	r, err := s.CallTool(t.Context(), touch)
	if err != nil || !r.IsError {
		t.Fatalf("%v, %+v", err, r)
	}
	said, commands, found := strings.Cut(r.Content[0].(*sdk.TextContent).Text, "run this command in "+s.dir+" and restart this MCP server.\n")
	if !found {
		t.Fatalf("told %q", said)
	}
	sh := exec.Command("sh", "-c", commands)
	sh.Dir, sh.Env = s.dir, s.cmd.Env
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", commands, err, out)
	}
	again := s.again(t, haft)
	if r, err := again.CallTool(t.Context(), touch); err != nil || r.IsError {
		t.Fatalf("%v, %+v", err, r)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
		t.Error(err)
	}
}

func TestMCPServerAsksByTheSameRules(t *testing.T) {
	haft := haftCommand(t)
	for _, era := range mcpEras {
		t.Run(era, func(t *testing.T) {
			asked := ""
			opts := &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked = r.Params.Message
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}, nil
			}}
			s := serveMCP(t, haft, `{"permissions":{"deny":["Bash(rm:*)"]}}`, era, opts)
			bash := func(command string) *sdk.CallToolResult {
				asked = ""
				r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{"command": command}})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			if r := bash("touch made"); r.IsError || !strings.Contains(asked, "touch made") {
				t.Errorf("asked %q, failed %v", asked, r.IsError)
			}
			if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
				t.Error(err)
			}
			if r := bash("rm made"); !r.IsError || asked != "" {
				t.Errorf("a denied command: asked %q, failed %v", asked, r.IsError)
			}
			if r := bash("ls"); r.IsError || asked != "" {
				t.Errorf("a harmless command: asked %q, failed %v", asked, r.IsError)
			}
		})
	}
	t.Run("a client that cannot ask", func(t *testing.T) {
		s := serveMCP(t, haft, `{}`, mcpEras[0], nil)
		r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{"command": "touch made"}})
		if err != nil || !r.IsError {
			t.Fatalf("%v, %+v", err, r)
		}
		if got := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(got, "does not support elicitation") {
			t.Errorf("told %q", got)
		}
		if _, err := os.Stat(filepath.Join(s.dir, "made")); err == nil {
			t.Error("it ran")
		}
	})
}

func TestMCPServerReportsBashProgress(t *testing.T) {
	reports := make(chan string, 10)
	s := serveMCP(t, haftCommand(t), `{"permissions":{"allow":["Bash"]}}`, mcpEras[0], &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { reports <- r.Params.Message },
	})
	params := &sdk.CallToolParams{Name: "Bash", Arguments: map[string]any{"command": "echo building; sleep 1.5"}}
	params.SetProgressToken(1)
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-reports:
		if got != "building" {
			t.Errorf("progress %q", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("no progress")
	}
}
