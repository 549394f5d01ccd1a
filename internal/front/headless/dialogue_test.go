package headless_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
	"github.com/haftdev/haft/wire/wiretest"
)

// TestDialogues plays both sides of a conversation. A file of testdata/dialogues
// has the flags, the scripted model's answers (model.json), what the program does
// (program) and all that haft says to it (haft). Lines of the program are messages,
// or one of
//
//	wait TYPE     reads on to a message of the type, subtype or request
//	answer JSON   answers the request that was waited for
//	refuse TEXT   answers it with an error
//	close         says that no more will come
func TestDialogues(t *testing.T) {
	golden.EachArchive(t, "testdata/dialogues/*.txtar", func(t *testing.T, a golden.Archive) {
		a.Check(t, "haft", play(t, a.Section("flags"), a.Section("model.json"), a.Section("program")))
	})
}

// play leads a dialogue and returns what haft said.
func play(t *testing.T, flags, scenario, program string) string {
	opts, dir := stage(t, flags, scenario)
	p := newPlayer(t, opts)
	for line := range strings.Lines(program) {
		p.act(strings.TrimSpace(line))
	}
	p.in.Close()
	p.readOn("")
	code := <-p.code
	return p.plain(dir) + fmt.Sprintf("exit %d\n", code)
}

// stage returns options for a folder of its own and a model that follows a scenario.
func stage(t *testing.T, flags, scenario string) (opts *headless.Options, dir string) {
	t.Helper()
	var s script.Scenario
	if err := json.Unmarshal([]byte(scenario), &s); err != nil {
		t.Fatal(err)
	}
	srv, err := scripttest.Serve(t, &script.Options{Scenario: &s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	dir, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": srv.URL(), "ANTHROPIC_API_KEY": "sk-ant-scripted", "HOME": dir, "CLAUDE_CONFIG_DIR": "", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
		"CLAUDE_CODE_MAX_RETRIES": "1", "IS_SANDBOX": "1",
	} {
		t.Setenv(name, value)
	}
	opts, err = launch.Parse(strings.Fields("--input-format=stream-json --output-format=stream-json --model=sonnet "+flags), "v0", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	opts.Harness.Dir = filepath.Join(dir, "project")
	if err := os.Mkdir(opts.Harness.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return opts, dir
}

// A player is the program.
type player struct {
	t     *testing.T
	in    io.WriteCloser
	out   chan wire.Message
	check *wiretest.Checker
	code  chan int
	said  []map[string]any
	asked string // the id of the request that was waited for
}

func newPlayer(t *testing.T, opts *headless.Options) *player {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &player{t: t, in: inW, out: make(chan wire.Message, 1000), check: wiretest.NewChecker(), code: make(chan int, 1)}
	go func() {
		defer close(p.out)
		for in := wire.NewReader(outR); ; {
			m, err := in.Read()
			if err != nil {
				return
			}
			p.out <- m
		}
	}()
	go func() {
		code := headless.Serve(t.Context(), wire.Lines(wire.NewReader(inR), wire.NewWriter(outW)), opts)
		outW.Close()
		p.code <- code
	}()
	return p
}

func (p *player) act(line string) {
	p.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
	case strings.HasPrefix(line, "{"):
		p.write(line)
	case verb == "wait":
		p.readOn(rest)
	case verb == "answer":
		p.write(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, p.asked, rest))
	case verb == "refuse":
		p.write(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":%q}}`, p.asked, rest))
	case verb == "close":
		p.in.Close()
	default:
		p.t.Fatalf("the program cannot %q", line)
	}
}

func (p *player) write(line string) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// readOn reads to a message of a type, or to the end.
func (p *player) readOn(kind string) {
	p.t.Helper()
	for {
		ok := p.readOne()
		if !ok && kind == "" {
			return
		}
		if !ok {
			p.t.Fatalf("haft ended before %s", kind)
		}
		v := p.said[len(p.said)-1]
		request, _ := v["request"].(map[string]any)
		if kind != "" && (v["type"] == kind || v["subtype"] == kind || request["subtype"] == kind) {
			p.asked, _ = v["request_id"].(string)
			return
		}
	}
}

// readOne reads one message; false means that there are no more.
func (p *player) readOne() bool {
	p.t.Helper()
	m, ok := <-p.out
	if !ok {
		return false
	}
	line, err := wire.Encode(m)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.check.Line(line); err != nil {
		p.t.Error(err)
	}
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		p.t.Fatal(err)
	}
	p.said = append(p.said, v)
	return true
}

// left are members that differ from run to run, or belong to other tests.
var left = map[string]bool{
	"uuid": true, "session_id": true, "timestamp": true, "duration_ms": true, "duration_api_ms": true, "ttft_ms": true, "usage": true, "modelUsage": true,
	"total_cost_usd": true, "transcript_path": true, "pid": true, "commands": true, "models": true, "agents": true, "slash_commands": true, "skills": true,
	"retry_delay_ms": true, "id": true, "request_id": true, "durationMs": true, "task_id": true, "run_id": true, "tools": true, "end_time": true,
}

// plain is what haft said without those, a message a line.
func (p *player) plain(dir string) string {
	var out bytes.Buffer
	for _, m := range p.said {
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(without(m)); err != nil {
			p.t.Fatal(err)
		}
	}
	text := strings.ReplaceAll(out.String(), dir, "$DIR")
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "$$HOST")
}

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if left[k] {
				delete(v, k)
			} else {
				v[k] = without(v[k])
			}
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}
