package embed_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/test/waiting"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

func TestMain(m *testing.M) {
	if waiting.Serving() {
		return
	}
	os.Exit(m.Run())
}

// A program that asks for it is told, while calls run, what they report, whatever kind of call it is.
func TestRunningCallsAreSeen(t *testing.T) {
	scripted(t)
	dir := t.TempDir()
	model, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Parts: waiting.Parts(dir)}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	t.Setenv("ANTHROPIC_BASE_URL", model.URL())
	command, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	left := waiting.Kinds
	for m, err := range haft.Query(ctx, waiting.Prompt, &haft.Options{
		Dir: dir, ToolProgress: true, AllowedTools: waiting.Allowed, Transport: embed.New(&embed.Options{Tools: []tool.Tool{waiting.Tool()}}),
		MCPServers: map[string]haft.MCPServer{waiting.Server: haft.Stdio{Command: command, Env: map[string]string{waiting.Variable: "1"}}},
	}) {
		if err != nil {
			t.Fatalf("%v; not reported: %v", err, left)
		}
		p, ok := m.(*wire.ToolProgress)
		if !ok || len(left) == 0 || p.ToolName != left[0].Tool || !strings.Contains(string(p.Progress), left[0].Report) {
			continue
		}
		if p.State != wire.CallExecuting || p.ToolUseID != left[0].CallID() {
			t.Errorf("%s: %+v", left[0].Tool, p)
		}
		if err := left[0].End(dir); err != nil {
			t.Fatal(err)
		}
		left = left[1:]
	}
	if len(left) > 0 {
		t.Errorf("not reported: %v", left)
	}
}
