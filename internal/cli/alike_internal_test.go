package cli

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/acp"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/front/plain"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/wire"
)

// An input is what a user types, and what comes of it in every front end.
type input struct {
	text string
	// words are shown to the user.
	words string
	// sent is what the model is asked with, as kinds and beginnings of the blocks; nil means
	// that it is not asked.
	sent []string
}

const reply = "The model answers."

var inputs = []input{
	{text: "hello", words: reply, sent: []string{"hello"}},
	{text: "two\nlines", words: reply, sent: []string{"two lines"}},
	{text: "what does /cost do?", words: reply, sent: []string{"what does /cost do?"}},
	{text: "/etc/passwd is what?", words: reply, sent: []string{"/etc/passwd is what?"}},
	{text: "/tmp is full", words: reply, sent: []string{"/tmp is full"}},
	{text: "/* a comment */", words: reply, sent: []string{"/* a comment */"}},
	{text: "/cost", words: "This session has cost $0.0000."},
	{text: "/context", words: "tokens"},
	{text: "/agents", words: "general-purpose"},
	{text: "/skills", words: "There are no skills."},
	{text: "/tools", words: "WebFetch"},
	{text: "/status", words: "claude-sonnet"},
	{text: "/output-style", words: "default"},
	{text: "/add-dir", words: "Tools may work in these folders"},
	{text: "/add-dir nowhere", words: "could not add nowhere: it is not a folder"},
	{text: "/add-dir sub", words: "Tools may work in these folders"},
	{text: "/model haiku", words: "The model is claude-haiku"},
	{text: "/permissions plan", words: "The permission mode is plan."},
	{text: "/permissions acceptEdits", words: "The permission mode is acceptEdits."},
	{text: "/permissions plam", words: "plam"},
	{text: "/vim-keys", words: "There is no command /vim-keys."},
	{text: "/statsu", words: "There is no command /statsu. Did you mean /status?"},
	{text: "/csot", words: "There is no command /csot. Did you mean /cost?"},
	{text: "/Cost today", words: "There is no command /Cost. Did you mean /cost?"},
	{text: "/contxt", words: "There is no command /contxt. Did you mean /context?"},
	{text: "/compct", words: "There is no command /compct. Did you mean /compact?"},
	{text: "/greeet Ann", words: "There is no command /greeet. Did you mean /greet?"},
	{text: "/zzzzz", words: "There is no command /zzzzz. /help lists them."},
	{text: "/zzzzz and more words", words: "There is no command /zzzzz. /help lists them."},
	{text: "/greet Ann", words: reply, sent: []string{"Greet Ann."}},
	{text: "/greet @main.go", words: reply, sent: []string{"Greet @main.go. <file path="}},
	{text: "/broken", words: "could not run /broken"},
	{text: "read @main.go", words: reply, sent: []string{"read @main.go", "<file path="}},
	{text: "read @main.go#L1", words: reply, sent: []string{"read @main.go#L1", "<file path="}},
	{text: "list @sub", words: reply, sent: []string{"list @sub", "<folder path="}},
	{text: "read @missing.txt", words: "There is no file @missing.txt here; it is sent as text.", sent: []string{"read @missing.txt"}},
	{text: "read @main.go and @gone.go", words: "There is no file @gone.go here; it is sent as text.", sent: []string{"read @main.go and @gone.go", "<file path="}},
	{text: "ask @nobody", words: reply, sent: []string{"ask @nobody"}},
	{text: "see @pic.png", words: reply, sent: []string{"see @pic.png", "image"}},
	{text: "pic.png", words: reply, sent: []string{"pic.png", "image"}},
	{text: "'pic.png'", words: reply, sent: []string{"'pic.png'", "image"}},
	{text: "nopic.png", words: reply, sent: []string{"nopic.png"}},
}

// TestFrontEndsAreAlike gives every front end the same inputs: the model is asked the same, and
// the user is told the same. What one of them adds, such as a menu of the screen for a command
// without arguments, is not among the inputs.
func TestFrontEndsAreAlike(t *testing.T) {
	if len(inputs) < 40 {
		t.Fatalf("only %d inputs", len(inputs))
	}
	for name, front := range map[string]func(*alikeStage, string, func(string) bool) string{
		"-p": byPrint, "stream-json": byProgram, "an editor": byEditor, "line by line": byLine, "the terminal": byScreen,
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range inputs {
				t.Run(in.text, func(t *testing.T) {
					s := newAlikeStage(t)
					told := front(s, in.text, func(out string) bool { return strings.Contains(collapsed(out), in.words) })
					if !strings.Contains(collapsed(told), in.words) {
						t.Errorf("the user is not told %q:\n%s", in.words, told)
					}
					if d := cmp.Diff(in.sent, s.sent(in.sent)); d != "" {
						t.Errorf("the model is asked (-want +got):\n%s", d)
					}
				})
			}
		})
	}
}

// TestMisspeltSlashCommandsAreNotSent shows that a slip in the name of a slash command costs no request to the model.
func TestMisspeltSlashCommandsAreNotSent(t *testing.T) {
	for name, front := range map[string]func(*alikeStage, string, func(string) bool) string{"-p": byPrint, "the terminal": byScreen} {
		for _, text := range []string{
			"/cst", "/hlep", "/modle opus", "/sttaus", "/agnets", "/skils", "/tols", "/permisions plan", "/rewnd apply", "/contex", "/ad-dir sub",
			"/output-stlye default", "/resme", "/memroy", "/claer", "/exprt talk.md", "/cofnig", "/doctr", "/hoks", "/mpc", "/comapct keep the plan",
		} {
			t.Run(name+text, func(t *testing.T) {
				s := newAlikeStage(t)
				words := "There is no command " + strings.Fields(text)[0] + ". Did you mean /"
				told := front(s, text, func(out string) bool { return strings.Contains(collapsed(out), words) })
				if !strings.Contains(collapsed(told), words) {
					t.Errorf("the user is not told %q:\n%s", words, told)
				}
				if sent := s.sent(nil); sent != nil {
					t.Errorf("the model is asked %q", sent)
				}
			})
		}
	}
}

func collapsed(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestInterruptsAreAlike interrupts the first answer in every front end, which may end with it, and says something else.
// Where the queue can be edited, a prompt is taken back from it before: the model never sees it.
func TestInterruptsAreAlike(t *testing.T) {
	const next = "second"
	for name, c := range map[string]struct {
		front func(*alikeStage, string, func(string) bool) string
		words string
		sent  []string
	}{
		"-p":           {byPrint, "interrupted", []string{"first"}},
		"stream-json":  {byProgram, "interrupted", []string{"first", "[Request interrupted by user]", next}},
		"an editor":    {byEditor, "cancelled", []string{"first", "[Request interrupted by user]", next}},
		"line by line": {byLine, "! interrupted", []string{"first", "[Request interrupted by user]", next}},
		"the terminal": {byScreen, "Interrupted. What should haft do instead?", []string{"first", "[Request interrupted by user]", next}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAlikeStage(t, script.Fault{Break: script.Hang})
			s.next = next
			told := c.front(s, "first", func(out string) bool { return strings.Contains(collapsed(out), reply) })
			for _, words := range append([]string{c.words}, []string{reply}[:len(c.sent)/3]...) {
				if !strings.Contains(collapsed(told), words) {
					t.Errorf("the user is not told %q:\n%s", words, told)
				}
			}
			requests := s.srv.Requests()
			var got []string
			for _, m := range messagesOf(t, requests[len(requests)-1].Body) {
				got = append(got, blocksOf(m)...)
			}
			if d := cmp.Diff(c.sent, got); d != "" {
				t.Errorf("the model is asked (-want +got):\n%s", d)
			}
		})
	}
}

// An alikeStage is a project with a scripted model.
type alikeStage struct {
	t        *testing.T
	srv      *script.Server
	requests *atomic.Int32 // that have been given their answer or fault
	opts     *headless.Options
	next     string // said once the first answer was interrupted; "" lets it come
}

// asked waits until the model is asked.
func (s *alikeStage) asked() {
	await(s.t, "a request", func() bool { return s.requests.Load() > 0 })
}

// pixel is the smallest picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// newAlikeStage returns a stage whose first answers have faults.
func newAlikeStage(t *testing.T, faults ...script.Fault) *alikeStage {
	t.Helper()
	requests := new(atomic.Int32)
	srv, err := scripttest.Serve(t, &script.Options{Answer: func(*script.Request) script.Turn {
		turn := script.Turn{Blocks: []script.Block{{Text: reply}}}
		if n := int(requests.Add(1)); n <= len(faults) {
			turn.Fault = faults[n-1]
		}
		return turn
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"ANTHROPIC_BASE_URL": srv.URL(), "ANTHROPIC_API_KEY": "sk-ant-scripted", "HOME": home, "CLAUDE_CONFIG_DIR": "", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "XDG_STATE_HOME": "",
		"CLAUDE_CODE_MAX_RETRIES": "1", "IS_SANDBOX": "1",
	} {
		t.Setenv(name, value)
	}
	picture, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "project")
	for name, text := range map[string]string{
		"project/main.go": "package main\n", "project/sub/a.txt": "a\n", "project/pic.png": string(picture),
		".claude/commands/greet.md": "Greet $ARGUMENTS.\n", ".claude/commands/broken.md": "---\nallowed-tools: Read\n---\n!`touch x` is not allowed.\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts, err := launch.Parse([]string{"--model=sonnet", "--disallowedTools=Bash"}, "v0", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	opts.Harness.Dir, opts.Log = dir, io.Discard
	return &alikeStage{t: t, srv: srv, requests: requests, opts: opts}
}

// sent is what the model was asked with last, shortened to the beginnings that are wanted; nil
// if it was not asked.
func (s *alikeStage) sent(want []string) []string {
	var got []string
	for _, r := range s.srv.Requests() {
		messages := messagesOf(s.t, r.Body)
		for _, b := range blocksOf(messages[len(messages)-1]) {
			if len(got) < len(want) && b != want[len(got)] && strings.HasSuffix(want[len(got)], "=") && strings.HasPrefix(b, want[len(got)]) {
				b = want[len(got)]
			}
			got = append(got, b)
		}
	}
	return got
}

// messagesOf are the contents of the messages of a request.
func messagesOf(t *testing.T, request []byte) (list []json.RawMessage) {
	t.Helper()
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(request, &body); err != nil || len(body.Messages) == 0 {
		t.Fatalf("%v: %s", err, request)
	}
	for _, m := range body.Messages {
		list = append(list, m.Content)
	}
	return list
}

// blocksOf are the blocks of a message without what haft adds by itself: texts, or the kinds
// of others.
func blocksOf(content json.RawMessage) (list []string) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{collapsed(text)}
	}
	var blocks []struct{ Type, Text string }
	_ = json.Unmarshal(content, &blocks) // otherwise there are none
	for _, b := range blocks {
		switch {
		case strings.HasPrefix(strings.TrimSpace(b.Text), "<system-reminder>"):
		case b.Type != "text":
			list = append(list, b.Type)
		default:
			list = append(list, collapsed(b.Text))
		}
	}
	return list
}

// collected is what a front end writes, for several goroutines.
type collected struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *collected) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *collected) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// await waits until something is so, or too long.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("waited for %s in vain", what)
			return
		}
	}
}

// byPrint is haft -p.
func byPrint(s *alikeStage, text string, _ func(string) bool) string {
	out := new(collected)
	s.opts.Watch = func(ev agent.Event) error {
		if n, ok := ev.(agent.Notice); ok {
			fmt.Fprintln(out, n.Text)
		}
		return nil
	}
	s.opts.OneAnswer, s.opts.ResultOnly = true, true
	if s.next != "" {
		s.opts.OnInterrupt = func(stop func()) {
			go func() {
				s.asked()
				stop()
			}()
		}
	}
	heard := new(messages)
	headless.Answer(s.t.Context(), text, s.opts, heard)
	fmt.Fprintln(out, heard.result.Result, strings.Join(heard.result.Errors, "\n"))
	return out.String()
}

// byProgram is a program at the other end of a stream.
func byProgram(s *alikeStage, text string, _ func(string) bool) string {
	ours, theirs := wire.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		headless.Serve(s.t.Context(), theirs, s.opts)
		_ = theirs.CloseWrite()
	}()
	said := []wire.Message{wire.Prompt(text)}
	if s.next != "" {
		never := wire.Prompt("never")
		never.UUID = "0d8a4f0e-7d4c-4c4e-9e37-5a0e5b0d6a01"
		said = append(said, never, &wire.ControlRequest{RequestID: "1", Request: &wire.CancelAsyncMessage{MessageUUID: never.UUID}}, &wire.ControlRequest{RequestID: "2", Request: &wire.Interrupt{}}, wire.Prompt(s.next))
	}
	go func() {
		for i, m := range said {
			if i == 1 {
				s.asked()
			}
			if err := ours.Write(m); err != nil {
				s.t.Error(err)
			}
		}
		_ = ours.CloseWrite()
	}()
	var out strings.Builder
	for {
		m, err := ours.Read()
		if err != nil {
			<-ended
			return out.String()
		}
		switch m := m.(type) {
		case *wire.Informational:
			fmt.Fprintln(&out, m.Content)
		case *wire.Result:
			fmt.Fprintln(&out, m.Result, strings.Join(m.Errors, "\n"))
		}
	}
}

// byEditor is an editor that speaks the Agent Client Protocol.
func byEditor(s *alikeStage, text string, _ func(string) bool) string {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = acp.Serve(s.t.Context(), inR, outW, &acp.Options{Version: "v0", Harness: s.opts.Harness, Talk: s.opts.Talk, Log: io.Discard})
		outW.Close()
	}()
	var out strings.Builder
	session := ""
	lines := bufio.NewScanner(outR)
	lines.Buffer(nil, 1<<24)
	call := func(id int, method string, params any) {
		raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			s.t.Fatal(err)
		}
		go fmt.Fprintf(inW, "%s\n", raw)
		for lines.Scan() {
			var m struct {
				ID     int
				Method string
				Result struct{ SessionID, StopReason string }
				Params struct {
					Update struct {
						SessionUpdate string
						Content       struct{ Text string }
					}
				}
			}
			_ = json.Unmarshal(lines.Bytes(), &m) // other content has another form
			if m.Params.Update.SessionUpdate == "agent_message_chunk" {
				out.WriteString(m.Params.Update.Content.Text + " ")
			}
			if m.Method == "" && m.ID == id {
				session = m.Result.SessionID + session
				out.WriteString(m.Result.StopReason + " ")
				return
			}
		}
	}
	call(1, "initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
	call(2, "session/new", map[string]any{"cwd": s.opts.Harness.Dir, "mcpServers": []any{}})
	prompt := func(text string) any {
		return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
	}
	if s.next != "" {
		go func() {
			s.asked()
			fmt.Fprintf(inW, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", session)
		}()
	}
	call(3, "session/prompt", prompt(text))
	if s.next != "" {
		call(4, "session/prompt", prompt(s.next))
	}
	go io.Copy(io.Discard, outR)
	inW.Close()
	<-ended
	return out.String()
}

// byLine is plain mode, in which a line that ends in a backslash continues.
func byLine(s *alikeStage, text string, _ func(string) bool) string {
	inR, inW := io.Pipe()
	out := new(collected)
	ended, interrupts := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- plain.Converse(s.t.Context(), &plain.ConverseOptions{In: inR, Out: out, Show: &plain.Options{Asks: true}, Interrupts: interrupts,
			Open: func(ctx context.Context, person *plain.Person) (*drive.Driver, error) {
				return openTalk(ctx, s.opts, tui.Opening{}, person, nil)
			},
		})
	}()
	fmt.Fprintln(inW, strings.ReplaceAll(text, "\n", "\\\n"))
	if s.next != "" {
		s.asked()
		interrupts <- struct{}{}
		fmt.Fprintln(inW, s.next)
	}
	inW.Close()
	if err := <-ended; err != nil {
		s.t.Error(err)
	}
	return out.String()
}

// byScreen is the terminal.
func byScreen(s *alikeStage, text string, shows func(string) bool) string {
	term := vt.NewEmulator(160, 60)
	go io.Copy(io.Discard, term) // what a terminal answers
	var mu sync.Mutex
	screen := func() string {
		mu.Lock()
		defer mu.Unlock()
		return term.String()
	}
	var driver *drive.Driver
	opened := make(chan struct{})
	inR, inW := io.Pipe()
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- tui.Run(ctx, &tui.Options{In: inR, Out: locked{&mu, term}, Size: tui.Size{Width: 160, Height: 60}, Version: "v0", Sessions: tui.Kept(s.opts.Harness.Dir), Prompt: text,
			Open: func(ctx context.Context, o tui.Opening, person tui.Person) (*tui.Talk, error) {
				d, err := openTalk(ctx, s.opts, o, person, nil)
				if err != nil {
					return nil, err
				}
				driver = d
				close(opened)
				return tui.Of(d), nil
			},
		})
	}()
	<-opened
	if s.next != "" {
		s.asked()
		for _, step := range [][2]string{{"never\r", "never (queued)"}, {"\x1b[A", "› never"}, {"\x15", "› you can keep typing"}, {"\x1b", "Interrupted."}, {s.next + "\r", ""}} {
			io.WriteString(inW, step[0])
			await(s.t, fmt.Sprintf("%q", step[1]), func() bool { return strings.Contains(collapsed(screen()), step[1]) })
		}
	}
	await(s.t, "the words on the screen", func() bool { return !driver.Busy() && shows(screen()) })
	told := screen()
	cancel()
	inW.Close()
	<-ended
	return told
}

type locked struct {
	mu *sync.Mutex
	io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Writer.Write(p)
}
