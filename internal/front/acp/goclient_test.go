package acp_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/harness"
)

// A goClient is an editor made of the Go library.
type goClient struct {
	mu      sync.Mutex
	text    string
	calls   map[sdk.ToolCallId]sdk.ToolCallStatus
	diffs   []string
	asked   int
	unknown []string
}

func (c *goClient) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := n.Update
	switch {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		c.text += u.AgentMessageChunk.Content.Text.Text
	case u.ToolCall != nil:
		c.calls[u.ToolCall.ToolCallId] = u.ToolCall.Status
	case u.ToolCallUpdate != nil:
		if u.ToolCallUpdate.Status != nil {
			c.calls[u.ToolCallUpdate.ToolCallId] = *u.ToolCallUpdate.Status
		}
		for _, item := range u.ToolCallUpdate.Content {
			if item.Diff != nil {
				c.diffs = append(c.diffs, item.Diff.NewText)
			}
		}
	}
	return nil
}

func (c *goClient) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	for _, o := range r.Options {
		if o.Kind == sdk.PermissionOptionKindAllowOnce {
			return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

var errNotOffered = errors.New("this client did not offer it")

func (c *goClient) called(method string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown = append(c.unknown, method)
	return errNotOffered
}

func (c *goClient) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (r sdk.ReadTextFileResponse, err error) {
	return r, c.called("fs/read_text_file")
}

func (c *goClient) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (r sdk.WriteTextFileResponse, err error) {
	return r, c.called("fs/write_text_file")
}

func (c *goClient) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (r sdk.CreateTerminalResponse, err error) {
	return r, c.called("terminal/create")
}

func (c *goClient) KillTerminal(context.Context, sdk.KillTerminalRequest) (r sdk.KillTerminalResponse, err error) {
	return r, c.called("terminal/kill")
}

func (c *goClient) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (r sdk.TerminalOutputResponse, err error) {
	return r, c.called("terminal/output")
}

func (c *goClient) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (r sdk.ReleaseTerminalResponse, err error) {
	return r, c.called("terminal/release")
}

func (c *goClient) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (r sdk.WaitForTerminalExitResponse, err error) {
	return r, c.called("terminal/wait_for_exit")
}

// TestGoClient leads a session with the Go library, which knows an older schema.
func TestGoClient(t *testing.T) {
	p := newPlayer(t, `{"turns":[
		{"blocks":[{"text":"I write it."},{"tool":"Write","id":"toolu_1","input":{"file_path":"$DIR/new.txt","content":"hello\n"}}]},
		{"blocks":[{"tool":"Read","id":"toolu_2","input":{"file_path":"$DIR/missing.txt"}}]},
		{"blocks":[{"text":" Done."}]}]}`)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- acp.Serve(t.Context(), inR, outW, &acp.Options{Version: "v0", Harness: harness.Options{Reexec: reexec}, Talk: harness.TalkOptions{Model: "sonnet"}})
		outW.Close()
	}()
	client := &goClient{calls: make(map[sdk.ToolCallId]sdk.ToolCallStatus)}
	conn := sdk.NewClientSideConnection(client, inW, outR)
	ctx := t.Context()
	first, err := conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	if err != nil || first.ProtocolVersion != 1 || !first.AgentCapabilities.LoadSession {
		t.Fatalf("initialize: %+v, %v", first, err)
	}
	session, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: p.dir, McpServers: []sdk.McpServer{}})
	if err != nil || session.Modes == nil || session.Modes.CurrentModeId != "default" {
		t.Fatalf("new session: %+v, %v", session, err)
	}
	answer, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: session.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("Write it")}})
	if err != nil || answer.StopReason != sdk.StopReasonEndTurn {
		t.Fatalf("prompt: %+v, %v", answer, err)
	}
	if _, err := conn.SetSessionMode(ctx, sdk.SetSessionModeRequest{SessionId: session.SessionId, ModeId: "plan"}); err != nil {
		t.Errorf("set mode: %v", err)
	}
	var failed *sdk.RequestError
	if _, err := conn.SetSessionMode(ctx, sdk.SetSessionModeRequest{SessionId: "none", ModeId: "plan"}); !errors.As(err, &failed) || failed.Code != -32002 {
		t.Errorf("set the mode of no session: %v", err)
	}
	inW.Close()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	client.mu.Lock()
	defer client.mu.Unlock()
	if client.text != "I write it. Done." || client.asked != 1 || len(client.unknown) > 0 {
		t.Errorf("text %q, asked %d times, called what it did not offer: %v", client.text, client.asked, client.unknown)
	}
	if client.calls["toolu_1"] != "completed" || client.calls["toolu_2"] != "failed" || len(client.diffs) != 1 || client.diffs[0] != "hello\n" {
		t.Errorf("calls %v, diffs %q", client.calls, client.diffs)
	}
	if raw, err := os.ReadFile(filepath.Join(p.dir, "new.txt")); string(raw) != "hello\n" {
		t.Errorf("new.txt is %q, %v", raw, err)
	}
}
