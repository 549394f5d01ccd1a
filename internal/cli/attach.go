package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/live"
	"github.com/haftdev/haft/internal/front/plain"
	"github.com/haftdev/haft/internal/front/serve"
	"github.com/haftdev/haft/internal/front/serve/attach"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/tools/builtin"
	"github.com/haftdev/haft/internal/world/mcp"
	"github.com/haftdev/haft/internal/world/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
	"github.com/spf13/cobra"
)

type attachFlags struct {
	Streams
	json, watch bool
	from        string
	tokenFile   string
	insecure    bool
	cancel      bool // the turn, instead of watching

	person  *plain.Person // answers questions
	greeted chan struct{} // closed when it was said what this terminal is attached to

	mu    sync.Mutex // held while something is shown
	calls map[string]shownProgress
	early []wire.Message // that came before that
	busy  bool           // a turn runs
}

func newAttachFlags(s Streams) *attachFlags {
	return &attachFlags{Streams: s, person: plain.NewPerson(s.Out), greeted: make(chan struct{})}
}

func newAttach(s Streams) *cobra.Command {
	f := newAttachFlags(s)
	c := &cobra.Command{
		Use:   "attach [SESSION | URL]",
		Short: message("Watch a session that runs elsewhere, send prompts and answer its questions"),
		Long: `Watch a session that runs in another terminal, in an editor or under a program.

Without an argument, attach to the newest session that runs in this folder.

A line that you type is sent as a prompt. Questions are asked here and where the
session runs: the first answer counts. Ctrl-C interrupts the turn; Ctrl-D leaves,
and the session continues.

A session of 'haft serve', even on another machine, is named by its address, such as
http://127.0.0.1:7420/s/3f9a; leave out /s/… if only one is running. The token is
read from --token-file or from the variable HAFT_SERVE_TOKEN; for your own server on
this machine, haft finds the token. Never put the token into the address, which others can see.`,
		Example: `  haft attach
  haft attach 3f9a --watch
  haft attach 3f9a --json --from end
  haft attach https://box.example:7420/s/3f9a --token-file ~/.box-token`,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().StringVar(&f.tokenFile, "token-file", "", "file with the server's token, readable only by you")
	c.Flags().BoolVar(&f.insecure, "insecure", false, "send the token to another machine without encryption")
	c.Flags().BoolVar(&f.json, "json", false, "write wire messages as JSON, one per line; see 'haft help wire'")
	c.Flags().BoolVar(&f.cancel, "cancel", false, "stop the session's turn, drop queued prompts, and leave")
	c.Flags().BoolVar(&f.watch, "watch", false, "only watch: send nothing and answer nothing; Ctrl-C leaves")
	c.Flags().StringVar(&f.from, "from", "", "where in the journal to start: a position, or end for new messages only")
	return c
}

func (f *attachFlags) run(ctx context.Context, args []string) error {
	if len(args) > 0 && attach.IsAddress(args[0]) {
		return f.runRemote(ctx, args[0])
	}
	info, err := f.running(session.Open(""), args)
	if err != nil {
		return err
	}
	id := info.ID
	conn, err := live.Dial(ctx, info.Path)
	if errors.Is(err, live.ErrNotRunning) {
		return fmt.Errorf("could not attach to session %s: it is not running. Continue it with: haft --resume %s", id, id)
	}
	if err != nil {
		return fmt.Errorf("could not attach to session %s: %w", id, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return f.attach(ctx, conn, fmt.Sprintf("haft attach (process %d)", os.Getpid()))
}

// running is the session that the arguments name, or the one that runs here: the newest of
// several, and the others are named.
func (f *attachFlags) running(store *session.Store, args []string) (session.Info, error) {
	if len(args) > 0 {
		id, err := chosen(store, args)
		if err != nil {
			return session.Info{}, err
		}
		return store.Info(id)
	}
	dir, err := os.Getwd()
	if err != nil {
		return session.Info{}, err
	}
	here, err := runningIn(store, dir)
	if err != nil {
		return session.Info{}, err
	}
	if len(here) == 0 {
		elsewhere, err := runningIn(store, "")
		if err != nil {
			return session.Info{}, err
		}
		if len(elsewhere) == 0 {
			return session.Info{}, usageError{fmt.Errorf("no session is running in %s or elsewhere. Start one with: haft\nOr continue the last one of this folder with: haft --continue", dir)}
		}
		return session.Info{}, usageError{fmt.Errorf("no session is running in %s.%s", dir, attachable(" Running elsewhere:", elsewhere))}
	}
	fmt.Fprint(f.Err, strings.TrimLeft(attachable("Attaching to the newest session that runs here. The others:", here[1:])+"\n", "\n"))
	return here[0], nil
}

// runningIn are the sessions of a folder that can be attached to, newest first; "" means
// those of all folders.
func runningIn(store *session.Store, dir string) (running []session.Info, err error) {
	list, err := store.List(&session.ListOptions{Cwd: dir})
	for _, s := range list {
		if _, ok := live.Running(s.Path); ok {
			running = append(running, s)
		}
	}
	return running, err
}

// attachable are the commands that attach to sessions, below a heading; "" for no sessions.
func attachable(heading string, list []session.Info) string {
	for _, s := range list {
		heading += fmt.Sprintf("\n  haft attach %s  (%s in %s)", s.ID, inOneLine(cmp.Or(s.Title, s.Prompt, "no prompt yet"), 40), visible.Text(s.Cwd))
	}
	if len(list) == 0 {
		return ""
	}
	return heading
}

// attach speaks with a session until it ends or the user leaves.
func (f *attachFlags) attach(ctx context.Context, conn wire.Stream, name string) error {
	link := wire.NewConn(conn, &wire.ConnOptions{Handle: f.asked})
	ended := make(chan error, 1)
	go func() { ended <- link.Run(ctx, f.heard) }()
	var reply wire.ObserveReply
	if err := link.Call(ctx, &wire.Observe{From: f.from, Name: name, Answers: !f.watch && !f.json && !f.cancel}, &reply); err != nil {
		return fmt.Errorf("could not attach: %w", err)
	}
	if f.cancel {
		if err := link.Call(ctx, &wire.Interrupt{CancelQueued: true}, nil); err != nil {
			return fmt.Errorf("could not cancel the turn: %w", err)
		}
		fmt.Fprintln(f.Err, cancelledText)
		return nil
	}
	pressed := make(chan os.Signal, 1)
	signal.Notify(pressed, os.Interrupt)
	defer signal.Stop(pressed)
	f.takeInterrupts()
	f.greet(&reply)
	return f.converse(ctx, link, ended, pressed)
}

// greet says what this terminal is attached to, and then what was heard meanwhile.
func (f *attachFlags) greet(reply *wire.ObserveReply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.json {
		leader := fmt.Sprintf("process %d", reply.PID)
		switch {
		case reply.PID == 0 && reply.Busy:
			leader = "running on another machine"
		case reply.PID == 0:
			leader = "not running: a prompt continues it"
		}
		about := strings.Join(slices.DeleteFunc([]string{leader, visible.Text(reply.Model), visible.Text(reply.PermissionMode)}, func(s string) bool { return s == "" }), ", ")
		fmt.Fprintf(f.Err, "Attached to %s in %s (%s).%s\n", reply.SessionID, visible.Text(reply.Cwd), about, f.keys())
	}
	f.busy = reply.Busy
	for _, m := range f.early {
		f.show(m)
	}
	f.early = nil
	close(f.greeted)
}

// keys says what Ctrl-C and Ctrl-D do.
func (f *attachFlags) keys() string {
	switch {
	case !tui.IsTerminal(f.In, f.Out):
		return ""
	case f.watch:
		return "\nCtrl-C leaves; the session continues."
	}
	return "\nCtrl-C interrupts the turn. Ctrl-D leaves; the session continues."
}

// converse sends what the user types until the session ends or the user leaves.
func (f *attachFlags) converse(ctx context.Context, link *wire.Conn, ended <-chan error, pressed <-chan os.Signal) error {
	typed := make(chan string)
	if !f.watch {
		go f.read(typed)
	} else {
		typed = nil
	}
	var interrupted chan error // nil: no interrupt is being sent
	idle := false              // no turn ran when it was sent
	for {
		select {
		case text, ok := <-typed:
			if !ok && tui.IsTerminal(f.In, f.Out) {
				return nil
			}
			if !ok {
				typed = nil // a program that sends nothing more may still watch
				continue
			}
			if err := link.Send(&wire.User{UUID: session.NewUUID(), Message: wire.UserMessage{Role: "user", Content: wire.Content{Blocks: []wire.Block{wire.Text(text)}}}}); err != nil {
				return fmt.Errorf("could not send the prompt: %w", err)
			}
		case <-pressed:
			if typed == nil || interrupted != nil {
				return nil // nothing else ends it: no input does, or the session does not answer
			}
			running := f.tellInterrupt()
			interrupted = make(chan error, 1)
			go func() { interrupted <- link.Call(ctx, &wire.Interrupt{}, nil) }()
			idle = !running
		case err := <-interrupted:
			interrupted = nil
			f.tellInterrupted(err, idle)
		case <-ended:
			if !f.json {
				fmt.Fprintln(f.Err, "The session ended or can no longer be watched.")
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// tellInterrupt says that a turn is being interrupted, and reports whether one runs.
func (f *attachFlags) tellInterrupt() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy && !f.json {
		fmt.Fprintln(f.Err, "\nInterrupting the turn.") // the line before has ^C
	}
	return f.busy
}

// tellInterrupted says what became of an interrupt. That a turn was stopped is in the journal.
func (f *attachFlags) tellInterrupted(err error, idle bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.json:
	case err != nil:
		fmt.Fprintf(f.Err, "Could not interrupt the turn: %s\n", visible.Text(err.Error()))
	case idle:
		fmt.Fprintln(f.Err, "\nNo turn is running. Ctrl-D leaves; the session continues.")
	}
}

// read passes on lines: as answers while a question is open, otherwise as prompts.
func (f *attachFlags) read(typed chan<- string) {
	defer close(typed)
	lines := bufio.NewReader(f.In)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimSpace(line)
		if line != "" && !f.person.Hear(line) {
			typed <- line
		}
		if err != nil {
			f.person.HangUp()
			return
		}
	}
}

// heard shows a message, or keeps it until it was said what this terminal is attached to.
func (f *attachFlags) heard(m wire.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.greeted:
		f.show(m)
	default:
		f.early = append(f.early, m)
	}
}

// show writes what happens.
func (f *attachFlags) show(m wire.Message) {
	if f.json {
		if raw, err := wire.Encode(m); err == nil {
			fmt.Fprintf(f.Out, "%s\n", raw)
		}
		return
	}
	switch m := m.(type) {
	case *wire.SessionStateChanged:
		f.busy = m.State != wire.StateIdle
	case *wire.User:
		for _, b := range m.Message.Content.All() {
			f.block(b, "> ", m.AgentID, m.IsSynthetic)
		}
	case *wire.Assistant:
		for _, b := range m.Message.Content {
			f.block(b, "", m.AgentID, false)
		}
	case *wire.ToolProgress:
		f.progress(m)
	case *wire.QuestionAnswered:
		if m.By != "" {
			fmt.Fprintf(f.Out, "  %s by %s\n", visible.Text(m.Behavior), visible.Text(m.By))
		}
	case *wire.Informational:
		fmt.Fprintf(f.Out, "  %s\n", visible.Indented(m.Content))
	case *wire.Result:
		f.busy = false
		fmt.Fprintf(f.Out, "  [%s, $%.4f]\n", visible.Text(m.Subtype), m.TotalCostUSD)
	}
}

// A shownProgress is what was shown of the progress of a call, and from when on more is.
type shownProgress struct {
	line string
	next float64
}

// progress writes how far a call is: what is new, and less and less often.
func (f *attachFlags) progress(m *wire.ToolProgress) {
	if m.State == wire.CallCompleted {
		delete(f.calls, m.ToolUseID)
		return
	}
	line, last := headless.ProgressLine(m), f.calls[m.ToolUseID]
	if line == "" || line == last.line || m.ElapsedTimeSeconds < last.next {
		return
	}
	if f.calls == nil {
		f.calls = make(map[string]shownProgress)
	}
	f.calls[m.ToolUseID] = shownProgress{line, max(m.ElapsedTimeSeconds+1, m.ElapsedTimeSeconds*1.2)}
	fmt.Fprintf(f.Out, "  … %s, %.0f s: %s\n", visible.Text(m.ToolName), m.ElapsedTimeSeconds, inOneLine(line, 160))
}

// block writes a piece of a message. A synthetic one is haft's own.
func (f *attachFlags) block(b wire.Block, before, from string, synthetic bool) {
	var v struct {
		Text    string          `json:"text"`
		Name    string          `json:"name"`
		Input   json.RawMessage `json:"input"`
		Content json.RawMessage `json:"content"`
		IsError bool            `json:"is_error"`
	}
	raw, err := json.Marshal(b)
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return
	}
	if from != "" {
		before = "[" + visible.Text(from) + "] " + before
	}
	switch b.Type {
	case "text":
		if why := agent.Stopped(v.Text); synthetic && why != "" {
			fmt.Fprintf(f.Out, "! %s\n", why)
			return
		}
		if synthetic || session.Injected(model.Block{Type: model.Text, Text: v.Text}) {
			return // haft's words for the model
		}
		fmt.Fprintf(f.Out, "%s%s\n", before, visible.Indented(v.Text))
	case "tool_use":
		fmt.Fprintf(f.Out, "%s● %s %s\n", before, visible.Text(v.Name), inOneLine(card.Line(v.Input), 160))
	case "tool_result":
		mark := "→"
		if v.IsError {
			mark = "✗"
		}
		fmt.Fprintf(f.Out, "  %s %s\n", mark, inOneLine(resultText(v.Content), 160))
	}
}

// asked asks the user.
func (f *attachFlags) asked(ctx context.Context, r wire.Request) (any, error) {
	if f.watch || f.json {
		return nil, wire.Unsupported(r)
	}
	select {
	case <-f.greeted:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	switch q := r.(type) {
	case *wire.CanUseTool:
		if q.ToolName == "AskUserQuestion" {
			return f.askedToChoose(ctx, q)
		}
		return f.askedToAllow(ctx, q)
	case *wire.Elicitation:
		a, err := f.person.Elicit(ctx, mcp.Elicitation{Server: q.MCPServerName, Message: q.Message, Mode: q.Mode, URL: q.URL, Schema: q.RequestedSchema})
		return wire.ElicitationReply{Action: a.Action, Content: a.Content}, err
	}
	return nil, wire.Unsupported(r)
}

// askedToChoose asks what the model wants to know.
func (f *attachFlags) askedToChoose(ctx context.Context, q *wire.CanUseTool) (any, error) {
	v, err := f.person.Ask(ctx, tool.Case{Call: &tool.Call{Tool: q.ToolName, Input: q.Input}}, tool.Verdict{})
	return wire.PermissionAnswer{Behavior: wire.BehaviorAllow, UpdatedInput: v.Input}, err
}

// askedToAllow asks about a call, or whether the user agrees to a plan.
func (f *attachFlags) askedToAllow(ctx context.Context, q *wire.CanUseTool) (any, error) {
	v, err := f.person.Decide(ctx, questionOf(q))
	if err != nil {
		return nil, err
	}
	switch v.Behavior {
	case tool.Allow:
		return wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, nil
	case tool.Deny:
		return wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: cmp.Or(v.Message, v.Reason)}, nil
	}
	return nil, errors.New(v.Reason) // the user left: the question stays open elsewhere
}

// questionOf is what the terminal of the session asks, as far as this one was told what it is about.
func questionOf(q *wire.CanUseTool) string {
	c := tool.Case{
		Tool: tool.NewSet(everything(), builtin.Unattached(), nil, nil).Lookup(q.ToolName),
		Call: &tool.Call{Tool: q.ToolName, Input: q.Input, UseID: q.ToolUseID, Agent: q.AgentID},
	}
	if q.ChangeUnknown != "" {
		c.Unclear = errors.New(q.ChangeUnknown)
	}
	what := card.PreviewOf(c, nil)
	if c.Tool == nil && q.DisplayName != "" {
		what.Title = visible.Indented(q.DisplayName)
	}
	what.Destructive = false // what could be restored is known where the session runs
	if q.Change != nil {
		var hunks [][]patch.Hunk
		c.Preview, hunks = changeOf(q.Change)
		what.Files, what.Summary = card.ChangesWith(hunks, c.Preview, nil)
		switch {
		case len(q.Change.Files) == 0:
			what.Note = "It would change nothing."
		case c.Tool != nil && c.Tool.Command == nil:
			what.Text = "" // the change says it all
		}
	}
	return plain.About(c, what, tool.Verdict{Reason: q.DecisionReason}, nil)
}

// runRemote attaches to a session of a server.
func (f *attachFlags) runRemote(ctx context.Context, word string) error {
	address, err := attach.Parse(word)
	if err != nil {
		return usageError{fmt.Errorf("could not attach: %w", err)}
	}
	if !address.Private() && !f.insecure {
		return usageError{fmt.Errorf("could not attach: others could read the token on its way to %s. Use https or a tunnel (ssh -L), or give --insecure", address.URL)}
	}
	token, err := f.token(address)
	if err != nil {
		return fmt.Errorf("could not attach: %w", err)
	}
	server := &attach.Server{URL: address.URL, Token: token}
	row, err := server.Find(ctx, address.Session)
	if err != nil {
		return fmt.Errorf("could not attach: %w", err)
	}
	if f.cancel {
		if err := server.Cancel(ctx, row.ID); err != nil {
			return fmt.Errorf("could not cancel session %s: %w", row.ID, err)
		}
		fmt.Fprintln(f.Err, cancelledText)
		return nil
	}
	if f.watch && !row.Running {
		return fmt.Errorf("could not attach to session %s: it is not running. Without --watch, you can continue it with a prompt", row.ID)
	}
	stream := server.Open(ctx, row)
	defer stream.Close()
	if err := f.attach(ctx, stream, ""); err != nil { // the server names its clients
		return err
	}
	if err := stream.Err(); err != nil {
		return fmt.Errorf("the session can no longer be watched: %w", err)
	}
	return nil
}

const cancelledText = "Cancelled the session's turn and its queued prompts."

// tokenVariable has the token of a server.
const tokenVariable = "HAFT_SERVE_TOKEN"

// token finds the token of a server, never in the command line, which others can see.
func (f *attachFlags) token(address attach.Address) (string, error) {
	if f.tokenFile != "" {
		return readToken(f.tokenFile)
	}
	if token := os.Getenv(tokenVariable); token != "" {
		return token, nil
	}
	// What a server has left is not used: another user may listen at its port now.
	home, err := serve.OpenHome(filepath.Join(keep.State(), "serve"), false)
	if err == nil {
		defer home.Close()
		// A further address without TLS may be a port that another user listens at.
		for _, at := range append([]string{home.Running}, home.Others...) {
			if at != "" && sameServer(at, address.URL) && (at == home.Running || strings.HasPrefix(at, "https://")) {
				return home.Token, nil
			}
		}
	}
	return "", fmt.Errorf("could not find the token for %s, and no 'haft serve' of yours runs there. Start it, or put the token into a file that only you can read and give --token-file, or set %s", address.URL, tokenVariable)
}

// dial begins a conversation with the flags of haft.
func (f *attachFlags) dial(ctx context.Context, word, dir string, args []string) (*serverConn, error) {
	address, err := f.server(word)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("could not connect: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.URL+"/v1/wire", nil)
	if err != nil {
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "haft-wire")
	resp, err := address.HTTP().Do(request)
	if err != nil {
		return nil, fmt.Errorf("could not connect: %w", attach.Unreachable(address.URL, err))
	}
	body, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		defer resp.Body.Close()
		var p struct{ Message string }
		if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&p) != nil || p.Message == "" {
			p.Message = resp.Status
		}
		return nil, fmt.Errorf("could not connect to %s: %s", address.URL, visible.Text(p.Message))
	}
	conn := &serverConn{ReadWriteCloser: body}
	first, err := json.Marshal(map[string]any{"type": "haft_launch", "args": slices.Concat([]string{}, args), "dir": dir})
	if err == nil {
		err = conn.say(first)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	return conn, nil
}

// server is the server at an address, with its token.
func (f *attachFlags) server(word string) (*attach.Server, error) {
	address, err := attach.Parse(word)
	if err != nil {
		return nil, usageError{fmt.Errorf("could not connect: %w", err)}
	}
	if !address.Private() {
		return nil, usageError{fmt.Errorf("could not connect: others could read the token on its way to %s. Use https or a tunnel (ssh -L)", address.URL)}
	}
	token, err := f.token(address)
	if err != nil {
		return nil, fmt.Errorf("could not connect: %w", err)
	}
	return &attach.Server{URL: address.URL, Token: token}, nil
}

// resultText is the text of a result, which is a string or blocks.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &list) // what is neither has no text
	var parts []string
	for _, b := range list {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}
