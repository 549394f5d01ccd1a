package harness_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness/servers"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A depot is an in-process server whose tool sends one of several kinds of content.
type depot struct{}

func (depot) send(_ context.Context, _ string, raw json.RawMessage) (json.RawMessage, error) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments struct {
				Kind string `json:"kind"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	zip := base64.StdEncoding.EncodeToString([]byte("PK\x03\x04 NEEDLE \x00\x01"))
	result := `{}`
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"depot","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{"kind":{"type":"string"}}}}]}`
	case "tools/call":
		result = map[string]string{
			"zip":   `{"content":[{"type":"resource","resource":{"uri":"depot:a.zip","mimeType":"application/zip","blob":"` + zip + `"}}]}`,
			"audio": `{"content":[{"type":"audio","mimeType":"audio/wav","data":"` + zip + `"}]}`,
			"long":  fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, strings.Repeat("a line with a NEEDLE in it\n", 20_000)),
		}[m.Params.Arguments.Kind]
	case "resources/read":
		result = `{"contents":[{"uri":"depot:a.zip","mimeType":"application/zip","blob":"` + zip + `"}]}`
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result), nil
}

// callIn calls a tool in a conversation's world, with nobody to ask.
func callIn(t *testing.T, c *harness.Conversation, mode permission.Mode, name, input string) *sched.Outcome {
	t.Helper()
	w := c.World
	judge := sched.JudgeFunc(func(_ context.Context, k tool.Case) tool.Verdict {
		before := w.Engine.Policy().Mode()
		w.Engine.SetMode(mode)
		defer w.Engine.SetMode(before)
		return w.Engine.Policy().Decide(k).Verdict
	})
	b := sched.New(&sched.Options{Judge: judge, Output: w.Project.Results()}).Start(t.Context(), &sched.BatchOptions{Tools: c.Agent.Tools()})
	b.Add("use", name, json.RawMessage(input))
	b.End()
	var out *sched.Outcome
	for out = range b.Outcomes() {
	}
	return out
}

// TestWhatIsKeptForTheModelCanBeRead provokes everything that keeps something in a
// file, and does with each file that is named what the model would do.
func TestWhatIsKeptForTheModelCanBeRead(t *testing.T) {
	r := newRig(t)
	r.play([]script.Turn{says("hello")}, map[string][]script.Turn{"CHILD": {says("a NEEDLE was found")}})
	c := r.talk(harness.Options{}, harness.TalkOptions{MCP: servers.Given{InProcess: map[string]*mcp.Manifest{"depot": nil}, Send: depot{}.send, Wait: 10 * time.Second}})
	defer c.Close(t.Context())
	r.say(c, "hello")
	long := `for i in $(seq 9000); do echo "line $i with a NEEDLE"; done`
	ended := callIn(t, c, permission.Bypass, "Bash", fmt.Sprintf(`{"command":%q,"run_in_background":true}`, long))
	id := ended.Result.Output.(bash.Output).BackgroundTaskID
	job := callIn(t, c, permission.Bypass, "Agent", `{"description":"d","prompt":"CHILD","run_in_background":true}`)
	for name, text := range map[string]string{
		"a long output":           callIn(t, c, permission.Bypass, "Bash", fmt.Sprintf(`{"command":%q}`, long)).Result.Text(),
		"a background command":    ended.Result.Text(),
		"output of a command":     callIn(t, c, permission.Bypass, "BashOutput", fmt.Sprintf(`{"bash_id":%q,"block":true}`, id)).Result.Text(),
		"an agent":                job.Result.Text(),
		"an MCP archive":          callIn(t, c, permission.Bypass, "mcp__depot__send", `{"kind":"zip"}`).Result.Text(),
		"MCP audio":               callIn(t, c, permission.Bypass, "mcp__depot__send", `{"kind":"audio"}`).Result.Text(),
		"a long MCP result":       callIn(t, c, permission.Bypass, "mcp__depot__send", `{"kind":"long"}`).Result.Text(),
		"an MCP resource":         callIn(t, c, permission.Bypass, "ReadMcpResource", `{"server":"depot","uri":"depot:a.zip"}`).Result.Text(),
		"a file with a long line": callIn(t, c, permission.Bypass, "Bash", `{"command":"head -c 400000 /dev/zero | tr '\\0' x; echo NEEDLE"}`).Result.Text(),
	} {
		paths := regexp.MustCompile(`/[^\s:"'\]]+\.[a-z0-9]+`).FindAllString(text, -1)
		var named []string
		for _, p := range paths {
			if strings.HasPrefix(p, os.Getenv("HOME")) {
				named = append(named, p)
			}
		}
		if len(named) == 0 {
			t.Errorf("%s: no file is named:\n%.600s", name, text)
		}
		for _, p := range named {
			follow(t, c, name, p)
		}
	}
}

// follow reads a file that was named, in every mode and by every tool that can, and
// tries to change it.
func follow(t *testing.T, c *harness.Conversation, name, path string) {
	t.Helper()
	binary := strings.HasSuffix(path, ".zip") || strings.HasSuffix(path, ".wav")
	for _, mode := range []permission.Mode{permission.Default, permission.AcceptEdits, permission.Plan, permission.DontAsk, permission.Auto} {
		calls := map[string]string{
			"Grep":  fmt.Sprintf(`{"pattern":"NEEDLE","path":%q,"output_mode":"count"}`, path),
			"Grep ": fmt.Sprintf(`{"pattern":"NEEDLE","path":%q}`, filepath.Dir(path)),
			"Bash":  fmt.Sprintf(`{"command":"grep -c NEEDLE %s; tail -n 3 %s"}`, path, path),
		}
		if !binary {
			calls["Read"] = fmt.Sprintf(`{"file_path":%q,"limit":10}`, path)
		}
		for what, input := range calls {
			if out := callIn(t, c, mode, strings.TrimSpace(what), input); out.Status != sched.Succeeded {
				t.Errorf("%s, %s mode: %s %s: %v %.300s", name, mode, what, input, out.Status, out.Result.Text())
			}
		}
	}
	for what, input := range map[string]string{
		"Write": fmt.Sprintf(`{"file_path":%q,"content":"x"}`, path),
		"Bash":  fmt.Sprintf(`{"command":"echo x > %s"}`, path),
	} {
		if out := callIn(t, c, permission.AcceptEdits, what, input); out.Status == sched.Succeeded {
			t.Errorf("%s: %s changed %s", name, what, path)
		}
	}
}

func TestWhatOtherSessionsKeptIsNotReadUnasked(t *testing.T) {
	r := newRig(t)
	one, two := r.talk(harness.Options{}, harness.TalkOptions{}), r.talk(harness.Options{}, harness.TalkOptions{})
	defer one.Close(t.Context())
	defer two.Close(t.Context())
	text := callIn(t, one, permission.Bypass, "Bash", `{"command":"seq 20000"}`).Result.Text()
	path := regexp.MustCompile(`/\S+\.output`).FindString(text)
	if callIn(t, one, permission.Default, "Read", fmt.Sprintf(`{"file_path":%q}`, path)).Status != sched.Succeeded {
		t.Fatalf("%q cannot be read by its own session", path)
	}
	beside := filepath.Join(filepath.Dir(path), "..", "..", "blobs", "x")
	if err := os.MkdirAll(filepath.Dir(beside), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(beside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for c, p := range map[*harness.Conversation]string{two: path, one: beside} {
		for name, input := range map[string]string{"Read": `{"file_path":%q}`, "Bash": `{"command":"cat %s"}`} {
			input = fmt.Sprintf(input, p)
			if out := callIn(t, c, permission.Default, name, input); out.Status != sched.Denied {
				t.Errorf("%s %s: %v", name, input, out.Status)
			}
		}
	}
}

func TestAResumedSessionReadsWhatItKept(t *testing.T) {
	r := newRig(t)
	c := r.talk(harness.Options{}, harness.TalkOptions{})
	r.say(c, "hello")
	path := regexp.MustCompile(`/\S+\.output`).FindString(callIn(t, c, permission.Bypass, "Bash", `{"command":"seq 20000"}`).Result.Text())
	id := c.Agent.Session()
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, fork := range []bool{false, true} {
		again := r.talk(harness.Options{}, harness.TalkOptions{Resume: id, Fork: fork})
		if out := callIn(t, again, permission.DontAsk, "Read", fmt.Sprintf(`{"file_path":%q,"limit":3}`, path)); out.Status != sched.Succeeded {
			t.Errorf("fork %v: %v %s", fork, out.Status, out.Result.Text())
		}
		if err := again.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
