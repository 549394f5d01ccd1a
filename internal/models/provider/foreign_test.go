package provider

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// aimock is a server of both APIs that was written elsewhere.
const aimock = "@copilotkit/aimock@1.43.0"

// dialogue is what the foreign server answers.
const dialogue = `{"fixtures":[
	{"match":{"userMessage":"read both","hasToolResult":false},"response":{"content":"I read <both>.","toolCalls":[
		{"name":"Read","arguments":"{\"file_path\":\"/a.txt\"}"},{"name":"Grep","arguments":"{\"pattern\":\"x\"}"}]}},
	{"match":{"userMessage":"read both","hasToolResult":true},"response":{"content":"Both are read: 日本語, and a long sentence after it."}},
	{"match":{"userMessage":"think"},"response":{"reasoning":"Let me see.","content":"Yes."}},
	{"match":{"userMessage":"too often by messages","sequenceIndex":0},"response":{"error":{"message":"slow down","type":"rate_limit_error"},"status":429}},
	{"match":{"userMessage":"too often by chat completions","sequenceIndex":0},"response":{"error":{"message":"slow down","type":"rate_limit_error"},"status":429}},
	{"match":{"userMessage":"too often"},"response":{"content":"Gladly."}}
]}`

// foreign starts the server and returns its address.
func foreign(t *testing.T) string {
	t.Helper()
	program := filepath.Join(needtest.NPM(t, aimock), "node_modules", ".bin", "llmock")
	file := filepath.Join(t.TempDir(), "dialogue.json")
	if err := os.WriteFile(file, []byte(dialogue), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--port", "0", "--fixtures", file, "--strict", "--chunk-size", "7")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	listening := regexp.MustCompile(`listening on (http://\S+)`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() { // its log must go somewhere
				}
			}()
			return m[1]
		}
	}
	t.Fatal("the server ended before it listened")
	return ""
}

// exchange asks, and returns what was said as lines.
func exchange(t *testing.T, m model.Model, req *model.Request) (said []string, answer model.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	answer.Role = model.Assistant
	for ev, err := range m.Stream(ctx, req) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case model.BlockStop:
			answer.Content = append(answer.Content, ev.Block)
			said = append(said, fmt.Sprintf("%s %s%s%s", ev.Block.Type, ev.Block.Text, ev.Block.Name, ev.Block.Input))
		case model.Retry:
			said = append(said, fmt.Sprintf("retry %s", ev.Err.Kind))
		case model.Stop:
			said = append(said, "stop "+string(ev.Reason))
		}
	}
	return said, answer
}

// Both clients hold a conversation, calls and results included, with a server
// that none of us wrote.
func TestAForeignServer(t *testing.T) {
	url := foreign(t)
	for name, e := range map[string]env{
		"chat completions": {"OPENAI_BASE_URL": url + "/v1", "OPENAI_API_KEY": "k", "OPENAI_MODEL": "gpt-5"},
		"messages":         {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k"},
	} {
		t.Run(name, func(t *testing.T) {
			m, info, err := Open(&Options{Getenv: e.get})
			if err != nil {
				t.Fatal(err)
			}
			req := func(text string) *model.Request {
				h := &model.History{}
				if err := h.Append(model.Message{Role: model.User, Content: []model.Block{model.TextOf(text)}}); err != nil {
					t.Fatal(err)
				}
				return &model.Request{
					Model: info.Model, Messages: h, System: []model.System{{Text: "be brief", Cache: true}},
					Tools: []byte(`[{"name":"Read","description":"reads","input_schema":{"type":"object"}},{"name":"Grep","description":"finds","input_schema":{"type":"object"}}]`),
				}
			}
			asking := req("read both")
			said, answer := exchange(t, m, asking)
			want := []string{"text I read <both>.", `tool_use Read{"file_path":"/a.txt"}`, `tool_use Grep{"pattern":"x"}`, "stop tool_use"}
			if diff := cmp.Diff(want, said); diff != "" {
				t.Fatalf("the first answer (-want +got):\n%s", diff)
			}
			results := model.Message{Role: model.User}
			for _, b := range answer.Content {
				if b.Type == model.ToolUse {
					results.Content = append(results.Content, model.Block{Type: model.ToolResult, UseID: b.ID, Content: []tool.Block{{Type: tool.TextBlock, Text: "ok"}}})
				}
			}
			if err := asking.Messages.Append(answer, results); err != nil {
				t.Fatal(err)
			}
			said, _ = exchange(t, m, asking)
			if diff := cmp.Diff([]string{"text Both are read: 日本語, and a long sentence after it.", "stop end_turn"}, said); diff != "" {
				t.Errorf("the second answer (-want +got):\n%s", diff)
			}
			said, _ = exchange(t, m, req("think"))
			if diff := cmp.Diff([]string{"thinking Let me see.", "text Yes.", "stop end_turn"}, said); diff != "" {
				t.Errorf("a thoughtful answer (-want +got):\n%s", diff)
			}
			said, _ = exchange(t, m, req("too often by "+name))
			if diff := cmp.Diff([]string{"retry rate_limit", "text Gladly.", "stop end_turn"}, said); diff != "" {
				t.Errorf("after a refusal (-want +got):\n%s", diff)
			}
		})
	}
}
