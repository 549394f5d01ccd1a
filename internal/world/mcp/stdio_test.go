package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/tool"
)

// runner owns processes as the product's does. It ends with the tests.
var runner = sync.OnceValue(func() shellrun.Runner {
	return shellrun.NewHost(&shellrun.Options{Reexec: shellrun.Supervise(), NoCgroup: true}).Runner()
})

// newHost makes a host that is closed with the test.
func newHost(t testing.TB, opts *mcp.Options) *mcp.Host {
	t.Helper()
	if opts == nil {
		opts = new(mcp.Options)
	}
	if opts.Runner == nil {
		opts.Runner = runner()
	}
	if opts.ProbeTimeout == 0 {
		opts.ProbeTimeout = 300 * time.Millisecond
	}
	h := mcp.NewHost(opts)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	return h
}

// badEntry is the entry of a server that misbehaves.
func badEntry(mode string) mcp.Server {
	exe, _ := os.Executable()
	return mcp.Server{Name: "bad", Command: exe, Env: map[string]string{
		badEnv:   mode,
		"GORACE": "atexit_sleep_ms=0", // else a binary with the race detector takes a second to exit
	}}
}

func wait(t testing.TB, h *mcp.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := h.Wait(ctx); err != nil {
		t.Fatalf("servers are still on their way: %+v", h.Status())
	}
}

func call(t testing.TB, h *mcp.Host, server, name, input string) (tool.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return h.Call(ctx, server, name, &tool.Call{Input: json.RawMessage(input), UseID: "toolu_1"})
}

// tell is a result, or an error, as one text.
func tell(r tool.Result, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text := r.Text()
	if r.Failed {
		text = "failed: " + text
	}
	if len(text) > 300 {
		text = fmt.Sprintf("%d characters", len(text))
	}
	return text
}

func TestEveryMisbehaviourEndsInSuccessOrAnErrorThatNamesTheCause(t *testing.T) {
	const good = `echo {"text":"hi"}`
	lost := "MCP server bad ended during the call to echo: the server exited (%s): %s. It is unknown whether the call took effect; check before you repeat it."
	for mode, want := range map[string]string{
		"good":                                    good,
		"knows the newer era only":                good,
		"noise at start":                          good,
		"noise between messages":                  good,
		"an error without an id":                  good,
		"byte order mark":                         good,
		"blank lines":                             good,
		"ends lines with CRLF":                    good,
		"sends ids back as text":                  good,
		"answers twice and to nobody":             good,
		"bad UTF-8":                               "a\ufffdb",
		"is silent on discover":                   good,
		"exits on discover":                       good,
		"answers discover with an odd code":       good,
		"answers discover with garbage":           good,
		"answers discover with an empty result":   good,
		"refuses with an error that is a text":    good,
		"floods stderr":                           good,
		"asks what nobody knows":                  good,
		"a storm of changes":                      good,
		"has five thousand tools":                 good,
		"repeats its cursor":                      good,
		"ignores the end of input and SIGTERM":    good,
		"leaves a grandchild":                     good,
		"exits at start":                          "status failed: the server exited (exit status 3): Error: API_KEY environment variable is required",
		"exits at start without a word":           "status failed: the server exited (exit status 0) without writing anything to standard error",
		"never answers":                           "status failed: no connection within 1s",
		"is silent on initialize":                 "status failed: no connection within 1s",
		"closes its output":                       "status failed: the server closed its output: broken pipe soon",
		"speaks an unknown revision":              `status failed: unsupported protocol version: "1999-01-01"`,
		"refuses initialize":                      `status failed: calling "initialize": licence expired`,
		"refuses to list":                         `status failed: could not list the tools: calling "tools/list": database is locked`,
		"has pages without end":                   "status failed: could not list the tools: the list has more than 1000 pages",
		"crashes in a call":                       "error: " + fmt.Sprintf(lost, "exit status 2", "fatal: segfault in tool"),
		"is killed in a call":                     "error: MCP server bad ended during the call to echo: the server exited (killed by signal 9) without writing anything to standard error. It is unknown whether the call took effect; check before you repeat it.",
		"a result of ten megabytes":               "10485760 characters",
		"a result that is too long":               "error: MCP error -32603: the server's answer is longer than 2 MiB",
		"never answers a call":                    "error: The call to echo at the MCP server bad was cancelled: no result and no progress for 300ms. It may have taken partial effect.",
		"progress without end":                    "error: The call to echo at the MCP server bad was cancelled: no result within 800ms. It may have taken partial effect.",
		"answers in a batch":                      good,
		"a log line with the call's id":           good,
		"an answer with neither result nor error": "error: MCP error -32603: the server's answer cannot be read: it is JSON, but not JSON-RPC",
		"an answer that is cut":                   "error: MCP error -32603: the server's answer cannot be read: it is not JSON",
		"an answer that is nested without end":    "error: MCP error -32603: the server's answer cannot be read: it is not JSON",
		"both a result and an error":              "error: MCP error -5: undecided",
		"closes its input":                        "error: MCP server bad ended during the call to echo: the server closed its input: not listening. It is unknown whether the call took effect; check before you repeat it.",
		"speaks with headers":                     "status failed: no connection within 1s; it wrote 2 lines to standard output that are not messages, the last: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}Content-Length: 5",
		"an error result":                         "failed: no such city",
		"an error":                                "error: MCP error -32000: quota exceeded",
		"a result that is null":                   "error: MCP server bad: the result of echo is not an object: null",
		"a result that is a list":                 "error: MCP server bad: the result of echo is not an object: []",
		"unknown content":                         "[content of the unknown type \"hologram\", 32 bytes]\nseen\n[a content block that cannot be read: 5]\n[image: its data cannot be shown because it is not valid base64 (3 characters)]",
		"structured content only":                 `{"n":1}`,
		"structured content twice":                `{ "n": 1.0 }`,
		"structured content around the text":      "a\nb\n",
		"structured content beside text":          "one\n{\"n\":1}",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			opts := &mcp.Options{StartTimeout: 10 * time.Second}
			entry := badEntry(mode)
			switch mode {
			case "never answers", "is silent on initialize", "speaks with headers":
				opts.StartTimeout = time.Second
			case "never answers a call":
				opts.IdleTimeout = 300 * time.Millisecond
			case "progress without end":
				opts.IdleTimeout, entry.CallTimeout = 500*time.Millisecond, mcp.Millis(800*time.Millisecond)
			case "a result that is too long":
				opts.MaxMessage = 2 << 20
			}
			h := newHost(t, opts)
			h.Start([]mcp.Server{entry})
			wait(t, h)
			status := h.Status()[0]
			got := fmt.Sprintf("status %s: %s", status.State, status.Error)
			if status.State == mcp.Connected {
				got = tell(call(t, h, "bad", "echo", `{"text":"hi"}`))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s\nsteps: %q stderr: %q noise: %d %q", d, status.Steps, status.Stderr, status.Noise, status.LastNoise)
			}
			if status.State != mcp.Connected || strings.Contains(want, "ended during") {
				return
			}
			if after := h.Status()[0]; after.State != mcp.Connected || after.Restarts > 0 {
				t.Errorf("the session did not survive: %s %s, %d restarts", after.State, after.Error, after.Restarts)
			}
		})
	}
}

func TestNoiseIsCountedAndShown(t *testing.T) {
	h := newHost(t, nil)
	h.Start([]mcp.Server{badEntry("noise between messages")})
	wait(t, h)
	call(t, h, "bad", "echo", `{}`)
	if s := h.Status()[0]; s.Noise != 2 || s.LastNoise != `{"level":"info","msg":"a structured log line"}` {
		t.Errorf("noise %d, last %q", s.Noise, s.LastNoise)
	}
}

func TestABrokenEntryCostsTheOthersNothing(t *testing.T) {
	for mode, want := range map[string]string{
		"has a tool without a schema":   "mcp__bad__echo |  the entry is malformed |  the tool has no name | array inputSchema has the type | broken inputSchema is missing",
		"has tools of the same name":    "mcp__bad__a_b_ mcp__bad__a_b_ mcp__bad__echo | echo the server lists another tool with this name",
		"has a schema of alternatives":  "mcp__bad__echo mcp__bad__either",
		"has a schema from the network": "mcp__bad__echo | far inputSchema refers to http://127.0.0.1:1/schema.json, which is not part of it",
	} {
		t.Run(mode, func(t *testing.T) {
			h := newHost(t, nil)
			h.Start([]mcp.Server{badEntry(mode)})
			wait(t, h)
			var offered, left []string
			for _, s := range h.Status()[0].Tools {
				if s.Offered == "" {
					left = append(left, "| "+s.Name+" "+s.Disabled)
				}
			}
			for _, tl := range h.Tools() {
				offered = append(offered, tl.Name)
				if err := tl.Check(); err != nil {
					t.Errorf("%s: %v", tl.Name, err)
				}
			}
			got := strings.Join(append(offered, left...), " ")
			if !matches(want, got) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// matches reports whether got has the words of want in order, words of want
// being prefixes of those of got.
func matches(want, got string) bool {
	words := strings.Fields(got)
	for _, w := range strings.Fields(want) {
		i := slices.IndexFunc(words, func(g string) bool { return strings.HasPrefix(g, w) })
		if i < 0 {
			return false
		}
		words = words[i+1:]
	}
	return true
}

func TestInvisibleTextIsTakenOutAndShown(t *testing.T) {
	h := newHost(t, nil)
	h.Start([]mcp.Server{badEntry("hides text in a description")})
	wait(t, h)
	tl, s := h.Tools()[0], h.Status()[0].Tools[0]
	if got := tl.Describe(nil); got != "Echoes." || s.Hidden != "U+200B U+E0041" {
		t.Errorf("description %q, hidden %q", got, s.Hidden)
	}
}

func TestAStormOfChangesIsOneRefetch(t *testing.T) {
	h := newHost(t, nil)
	h.Start([]mcp.Server{badEntry("a storm of changes")})
	wait(t, h)
	call(t, h, "bad", "echo", `{}`)
	// A slow machine may make two bursts of it; the test of calm counts in virtual time.
	lists := 0
	for began := time.Now(); lists < 2; {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("the list was fetched %d times", lists)
		}
		if _, err := fmt.Sscan(tell(call(t, h, "bad", "echo", `{}`)), &lists); err != nil {
			t.Fatal(err)
		}
	}
	if lists > 10 {
		t.Errorf("the list was fetched %d times for 1000 changes", lists)
	}
}

func TestAFailedRefetchKeepsTheOldList(t *testing.T) {
	log, written := io.Pipe()
	defer log.Close()
	h := newHost(t, &mcp.Options{Log: slog.New(slog.NewTextHandler(written, nil))})
	h.Start([]mcp.Server{badEntry("fails the second list")})
	refused := make(chan bool, 100)
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if strings.Contains(lines.Text(), "the tool list could not be refreshed") {
				refused <- true
			}
		}
	}()
	wait(t, h)
	call(t, h, "bad", "echo", `{}`)
	select {
	case <-refused:
	case <-time.After(20 * time.Second):
		t.Fatal("the list was not asked for again")
	}
	if got := len(h.Tools()); got != 1 {
		t.Errorf("%d tools, want 1", got)
	}
}

func TestACrashedServerIsStartedAgain(t *testing.T) {
	entry := badEntry("crashes in the first call")
	entry.Env["MCP_TEST_MARK"] = t.TempDir() + "/mark"
	h := newHost(t, nil)
	h.Start([]mcp.Server{entry})
	wait(t, h)
	before := h.Tools()[0].Name
	if got := tell(call(t, h, "bad", "echo", `{}`)); !strings.Contains(got, "fatal: first call") {
		t.Errorf("first call: %s", got)
	}
	if got := tell(call(t, h, "bad", "echo", `{}`)); got != "echo {}" {
		t.Errorf("second call: %s", got)
	}
	s := h.Status()[0]
	if s.Restarts != 1 || h.Tools()[0].Name != before {
		t.Errorf("%d restarts, tool %s", s.Restarts, h.Tools()[0].Name)
	}
}

func TestAServerThatKeepsCrashingIsLeftAlone(t *testing.T) {
	h := newHost(t, nil)
	h.Start([]mcp.Server{badEntry("crashes in a call")})
	wait(t, h)
	var last string
	for range 4 {
		last = tell(call(t, h, "bad", "echo", `{}`))
	}
	if s := h.Status()[0]; s.Restarts != 2 || !strings.Contains(last, "lost 3 times within a minute") {
		t.Errorf("%d restarts, last call: %s", s.Restarts, last)
	}
}

func TestAServerProcessGetsNoSecrets(t *testing.T) {
	entry := badEntry("environment")
	entry.Env["TOKEN"] = "mine"
	h := newHost(t, &mcp.Options{Environ: append(os.Environ(), "ANTHROPIC_API_KEY=sk-1", "MY_SECRET=s", "LC_ALL=C")})
	h.Start([]mcp.Server{entry})
	wait(t, h)
	r, err := call(t, h, "bad", "echo", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	for want, there := range map[string]bool{"TOKEN=mine": true, "LC_ALL=C": true, "PATH=": true, "ANTHROPIC": false, "MY_SECRET": false} {
		if strings.Contains(r.Text(), want) != there {
			t.Errorf("%s in the environment: %v", want, !there)
		}
	}
}

func TestProgressIsReported(t *testing.T) {
	h := newHost(t, nil)
	h.Start([]mcp.Server{badEntry("progress")})
	wait(t, h)
	var mu sync.Mutex
	var got []tool.MCPProgress
	_, err := h.Call(t.Context(), "bad", "echo", &tool.Call{Progress: func(p tool.Progress) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, p.(tool.MCPProgress))
	}})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) == 0 || got[0] != (tool.MCPProgress{Server: "bad", Tool: "echo", Progress: 1, Total: 4}) {
		t.Errorf("progress: %+v", got)
	}
}
