package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

// A stage is an empty home and a project, in which haft works as a process of its
// own.
type stage struct {
	t         *testing.T
	home, dir string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t, t.TempDir(), t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("what it says\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// haft is the command with arguments: this program, which TestMain makes haft.
func (s *stage) haft(url string, args ...string) *exec.Cmd {
	s.t.Helper()
	exe, err := exec.LookPath("haft")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Dir = s.dir
	cmd.Env = bareEnv(s.home, "TMPDIR="+os.TempDir(), "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=scripted",
		"CLAUDE_CODE_MAX_RETRIES=3", "HAFT_MODEL_IDLE_MS=1000", "HAFT_MODEL_FIRST_BYTE_MS=3000", "IS_SANDBOX=1")
	return cmd
}

// bareEnv is an environment that has nothing of this machine but where programs are, and
// how the race detector was told to work.
func bareEnv(home string, more ...string) []string {
	return append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}, more...)
}

// scripted serves a scenario until the test ends.
func scripted(t *testing.T, scenario *script.Scenario) *script.Server {
	t.Helper()
	return scriptedBy(t, scenario.Answer())
}

// scriptedBy serves what a function answers.
func scriptedBy(t *testing.T, answer script.AnswerFunc) *script.Server {
	t.Helper()
	server, err := scripttest.Serve(t, &script.Options{Answer: answer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// outcome is the result of a stream, of which there must be one.
type outcome struct {
	Subtype  string `json:"subtype"`
	IsError  bool   `json:"is_error"`
	Result   string `json:"result"`
	Reason   string `json:"terminal_reason"`
	NumTurns int    `json:"num_turns"`
}

func result(t *testing.T, stream string) (o outcome) {
	t.Helper()
	results := 0
	for line := range strings.Lines(stream) {
		if strings.Contains(line, `"type":"result"`) {
			results++
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatal(err)
			}
		}
	}
	if results != 1 {
		t.Fatalf("%d results in:\n%s", results, stream)
	}
	return o
}

// Whatever the model's server does, the turn continues or ends with one honest
// result, and what a call has done is done once.
func TestFaultsOfTheModelServer(t *testing.T) {
	type row struct {
		name  string
		fault script.Fault
		fails string // in the result; "" if the turn continues
	}
	rows := []row{
		{"429 with retry-after", script.Fault{Status: 429, RetryAfter: "0.1"}, ""},
		{"a burst of 529", script.Fault{Status: 529, Times: 2}, ""},
		{"529 that stays", script.Fault{Status: 529, Times: -1}, "529"},
		{"a slow drip", script.Fault{Drip: 1}, ""},
		{"garbage within a block", script.Fault{Break: script.Garbage, After: 3}, ""},
		{"garbage after a call", script.Fault{Break: script.Garbage, After: 7}, ""},
		{"a hang before the answer", script.Fault{Break: script.Hang}, ""},
		{"a hang within a block", script.Fault{Break: script.Hang, After: 3}, ""},
		{"a hang after a call", script.Fault{Break: script.Hang, After: 7}, ""},
		{"400 on a bad block", script.Fault{Status: 400, Message: "messages.0.content.0: bad block", Times: -1}, "bad block"},
		{"401", script.Fault{Status: 401, Message: "no such key", Times: -1}, "no such key"},
		{"the wrong content type", script.Fault{ContentType: "text/plain"}, ""},
		{"a web page", script.Fault{Body: "<html>Sign in</html>", ContentType: "text/html", Times: -1}, "text/html"},
		{"an error in the stream", script.Fault{Break: script.Failure, After: 2, Type: "overloaded_error"}, ""},
		{"an end too early", script.Fault{Break: script.End, After: 5}, ""},
	}
	for after := range 10 {
		rows = append(rows, row{fmt.Sprintf("cut after %d events", after), script.Fault{Break: script.Cut, After: after}, ""})
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			input, err := json.Marshal(map[string]string{"command": "echo once >> effects.txt", "description": "Leave a trace"})
			if err != nil {
				t.Fatal(err)
			}
			server := scripted(t, &script.Scenario{Turns: []script.Turn{
				{Blocks: []script.Block{{Text: "I leave a trace."}, {Tool: "Bash", Input: input}}, Fault: c.fault},
				{Blocks: []script.Block{{Text: "Done."}}},
			}})
			out, err := s.haft(server.URL(), "-p", "go on", "--output-format", "stream-json", "--dangerously-skip-permissions").Output()
			got := result(t, string(out))
			trace, _ := os.ReadFile(filepath.Join(s.dir, "effects.txt"))
			if c.fails == "" {
				if err != nil || got.IsError || got.Result != "Done." || string(trace) != "once\n" {
					t.Errorf("got %+v, %v, trace %q", got, err, trace)
				}
				return
			}
			if err == nil || !got.IsError || !strings.Contains(got.Result, c.fails) || len(trace) > 0 {
				t.Errorf("got %+v, %v, trace %q, want an error with %q", got, err, trace, c.fails)
			}
		})
	}
}

// Who is waiting for an answer is told why.
func TestTriesAreTold(t *testing.T) {
	s := newStage(t)
	server := scripted(t, &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: "Done."}}, Fault: script.Fault{Status: 529, Times: 1}}}})
	haft := s.haft(server.URL(), "-p", "go on")
	var told strings.Builder
	haft.Stderr = &told
	out, err := haft.Output()
	if err != nil || string(out) != "Done.\n" || !strings.Contains(told.String(), "warning: the request to the model failed: ") {
		t.Errorf("%v: %q, told %q", err, out, told.String())
	}
}
