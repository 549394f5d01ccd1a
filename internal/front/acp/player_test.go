package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/test/waiting"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model/script"
)

// reexec starts the supervisor of shell commands, as the command does.
var reexec shellrun.Reexec

func TestMain(m *testing.M) {
	reexec = shellrun.Supervise()
	if waiting.Serving() {
		return
	}
	if os.Getenv("ACP_TEST_SERVER") != "" {
		serveQuestions()
		return
	}
	os.Exit(m.Run())
}

// A player is an editor.
type player struct {
	t       testing.TB
	dir     string // the project
	in      *io.PipeWriter
	lines   chan string
	ended   chan error
	check   *checker
	session string
	asked   json.RawMessage // the id of the request that was waited for
	got     []map[string]any
	next    int
}

// newPlayer starts haft for an editor, with a scripted model.
func newPlayer(t testing.TB, scenario string) *player {
	t.Helper()
	var s script.Scenario
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "project")
	if err := json.Unmarshal([]byte(strings.ReplaceAll(scenario, "$DIR", dir)), &s); err != nil {
		t.Fatal(err)
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": srv.URL(), "ANTHROPIC_API_KEY": "sk-ant-scripted", "HOME": base, "XDG_CACHE_HOME": "", "CLAUDE_CONFIG_DIR": "", "CLAUDE_CODE_MAX_RETRIES": "1", "IS_SANDBOX": "1", "CLAUDE_CODE_ENABLE_TASKS": "0",
	} {
		t.(*testing.T).Setenv(name, value)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	check, err := newChecker()
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, dir: dir, check: check}
	p.connect(nil)
	return p
}

// connect starts a process, as far as the editor can tell.
func (p *player) connect(change func(*acp.Options)) {
	opts := &acp.Options{Version: "v0", Harness: harness.Options{Reexec: reexec, Preview: project.PreviewOff}, Talk: harness.TalkOptions{Model: "sonnet"}}
	if change != nil {
		change(opts)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p.in, p.lines, p.ended = inW, make(chan string, 10000), make(chan error, 1)
	lines := p.lines
	go func() {
		defer close(lines)
		for in := bufio.NewReaderSize(outR, 1<<20); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	ctx, cancel := context.WithCancel(context.WithoutCancel(p.t.Context()))
	ended := p.ended
	go func() {
		err := acp.Serve(ctx, inR, outW, opts)
		outW.Close()
		ended <- err
	}()
	p.t.Cleanup(func() {
		inW.Close()
		cancel()
	})
}

// send writes a line as it is.
func (p *player) send(line string) {
	p.t.Helper()
	line = strings.NewReplacer("$SESSION", p.session, "$DIR", p.dir).Replace(line)
	p.check.sent(line)
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// request asks haft for something and returns the id.
func (p *player) request(method, params string) string {
	p.t.Helper()
	p.next++
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.next, method, params))
	return fmt.Sprint(p.next)
}

// call is request that waits for the answer.
func (p *player) call(method, params string) map[string]any {
	p.t.Helper()
	return p.readTo("answer " + p.request(method, params))
}

// begin initializes and opens a session.
func (p *player) begin(capabilities string) {
	p.t.Helper()
	p.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
	p.call("session/new", `{"cwd":"$DIR","mcpServers":[]}`)
}

// readTo reads on to a message: an update of a kind, a request or notification of a
// method, or "answer" and an id. "" is the end.
func (p *player) readTo(what string) map[string]any {
	p.t.Helper()
	patience := time.After(20 * time.Second)
	for {
		var line string
		var ok bool
		select {
		case line, ok = <-p.lines:
		case <-patience:
			p.t.Fatalf("haft never says %s; it said\n%s", what, p.plain())
		}
		switch {
		case !ok && what == "":
			return nil
		case !ok:
			p.t.Fatalf("haft ended before %s", what)
		}
		if err := p.check.line([]byte(line)); err != nil {
			p.t.Errorf("%v\n%s", err, line)
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			p.t.Fatal(err)
		}
		p.got = append(p.got, m)
		if result, _ := m["result"].(map[string]any); result["sessionId"] != nil {
			p.session = result["sessionId"].(string)
		}
		if p.is(m, what) {
			return m
		}
	}
}

func (p *player) is(m map[string]any, what string) bool {
	id, _ := json.Marshal(m["id"])
	method, _ := m["method"].(string)
	if rest, ok := strings.CutPrefix(what, "answer "); ok {
		return method == "" && string(id) == rest
	}
	params, _ := m["params"].(map[string]any)
	update, _ := params["update"].(map[string]any)
	status, _ := update["status"].(string)
	kind, _ := update["sessionUpdate"].(string)
	if method == what && m["id"] != nil {
		p.asked = id
	}
	return what != "" && (method == what || kind == what || kind+" "+status == what)
}

// answer answers the request that was waited for.
func (p *player) answer(result string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, p.asked, result))
}

// choose answers a question by the id of an option.
func (p *player) choose(option string) {
	p.t.Helper()
	p.answer(fmt.Sprintf(`{"outcome":{"outcome":"selected","optionId":%q}}`, option))
}

// close ends the connection as an editor does that is closed, and waits for haft.
func (p *player) close() {
	p.t.Helper()
	p.in.Close()
	p.readTo("")
	if err := <-p.ended; err != nil {
		p.t.Errorf("it ended with %v", err)
	}
}

// write makes a file of the project.
func (p *player) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *player) read(name string) string {
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// prompt is the parameters of a prompt.
const prompt = `{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Go"}]}`

// updates are those of a kind that haft has told.
func (p *player) updates(kind string) (list []map[string]any) {
	for _, m := range p.got {
		params, _ := m["params"].(map[string]any)
		if update, _ := params["update"].(map[string]any); update["sessionUpdate"] == kind {
			list = append(list, update)
		}
	}
	return list
}
