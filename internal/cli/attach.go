package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/live"
	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/internal/tui"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/mcp"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/plan"
	"github.com/haftdev/haft/wire"
)

type attachFlags struct {
	Streams
	json, watch bool
	from        string

	person  *plain.Person // answers what needs more than yes or no
	mu      sync.Mutex
	waiting chan string // takes the answer to a question; nil if none is open
}

func newAttach(s Streams) *cobra.Command {
	f := &attachFlags{Streams: s, person: plain.NewPerson(s.Out)}
	c := &cobra.Command{
		Use:   "attach [SESSION]",
		Short: "Watch a session that runs elsewhere, send prompts and answer its questions",
		Long: `Watch a session that runs in another terminal, in an editor or under a program.

A line that you type is sent as a prompt. Questions are asked here and where the
session runs: the first answer counts. Ctrl-C interrupts the turn; Ctrl-D leaves,
and the session continues.`,
		Example: `  haft attach
  haft attach 3f9a --watch
  haft attach 3f9a --json --from end`,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write the messages of the wire, one per line; see docs/wire.md")
	c.Flags().BoolVar(&f.watch, "watch", false, "only watch: send nothing and answer nothing")
	c.Flags().StringVar(&f.from, "from", "", "where in the journal to start: a position, or end for new messages only")
	return c
}

func (f *attachFlags) run(ctx context.Context, args []string) error {
	store := session.Open("")
	id, err := chosen(store, args)
	if err != nil {
		return err
	}
	info, err := store.Info(id)
	if err != nil {
		return err
	}
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

// attach speaks with a session until it ends or the user leaves.
func (f *attachFlags) attach(ctx context.Context, conn *live.Conn, name string) error {
	link := wire.NewConn(conn, &wire.ConnOptions{Handle: f.asked})
	ended := make(chan error, 1)
	go func() { ended <- link.Run(ctx, f.show) }()
	var reply wire.ObserveReply
	if err := link.Call(ctx, &wire.Observe{From: f.from, Name: name, Answers: !f.watch && !f.json}, &reply); err != nil {
		return fmt.Errorf("could not attach: %w", err)
	}
	if !f.json {
		fmt.Fprintf(f.Err, "Attached to %s in %s (process %d, %s, %s).\n", reply.SessionID, visible.Text(reply.Cwd), reply.PID, visible.Text(reply.Model), reply.PermissionMode)
	}
	typed := make(chan string)
	if !f.watch {
		go f.read(typed)
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
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
		case <-interrupts:
			if err := link.Call(ctx, &wire.Interrupt{}, nil); err != nil {
				return nil
			}
		case <-ended:
			if !f.json {
				fmt.Fprintln(f.Err, "The session ended, or it cannot be watched any more.")
			}
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// read passes on lines: as answers while a question is open, otherwise as prompts.
func (f *attachFlags) read(typed chan<- string) {
	defer close(typed)
	lines := bufio.NewReader(f.In)
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimSpace(line)
		f.mu.Lock()
		waiting := f.waiting
		f.mu.Unlock()
		switch {
		case f.person.Hear(line), line == "":
		case waiting != nil:
			waiting <- line
		default:
			typed <- line
		}
		if err != nil {
			f.person.HangUp()
			return
		}
	}
}

// asked asks the user.
func (f *attachFlags) asked(ctx context.Context, r wire.Request) (any, error) {
	if f.watch || f.json {
		return nil, wire.Unsupported(r)
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

// askedToAllow asks about a call, or whether the user agrees to a plan. Only y allows; any
// other line denies and is the reason.
func (f *attachFlags) askedToAllow(ctx context.Context, q *wire.CanUseTool) (any, error) {
	answer := make(chan string, 1)
	f.mu.Lock()
	f.waiting = answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.waiting == answer {
			f.waiting = nil
		}
	}()
	if text := plan.Text(&tool.Call{Tool: q.ToolName, Input: q.Input}); q.ToolName == "ExitPlanMode" && text != "" {
		fmt.Fprintf(f.Out, "? The plan:\n%s\n", visible.Text(text))
	} else {
		fmt.Fprintf(f.Out, "? %s %s\n", visible.Text(cmp.Or(q.DisplayName, q.ToolName)), visible.Indented(string(q.Input)))
	}
	if q.Change != nil {
		writeChange(f.Out, q.Change)
	}
	fmt.Fprintf(f.Out, "  %s\n  y: allow once · n [reason]: deny\n", visible.Text(q.DecisionReason))
	select {
	case line := <-answer:
		if line == "y" || line == "yes" {
			return wire.PermissionAnswer{Behavior: wire.BehaviorAllow}, nil
		}
		return wire.PermissionAnswer{Behavior: wire.BehaviorDeny, Message: strings.TrimSpace(strings.TrimPrefix(line, "n"))}, nil
	case <-ctx.Done():
		fmt.Fprintln(f.Out, "  It was answered elsewhere.")
		return nil, context.Cause(ctx)
	}
}

// writeChange shows what a call would change in files.
func writeChange(w io.Writer, c *wire.Change) {
	for _, file := range c.Files {
		fmt.Fprintf(w, "  %s%s\n", visible.Text(file.Path), visible.Text(strings.TrimRight(" "+file.Folded, " ")))
		for _, h := range file.Hunks {
			for _, l := range h.Lines {
				fmt.Fprintf(w, "    %s\n", visible.Text(l))
			}
		}
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
	case *wire.User:
		for _, b := range m.Message.Content.All() {
			f.block(b, "> ", m.AgentID)
		}
	case *wire.Assistant:
		for _, b := range m.Message.Content {
			f.block(b, "", m.AgentID)
		}
	case *wire.QuestionAnswered:
		if m.By != "" {
			fmt.Fprintf(f.Out, "  %s by %s\n", visible.Text(m.Behavior), visible.Text(m.By))
		}
	case *wire.Informational:
		fmt.Fprintf(f.Out, "  %s\n", visible.Indented(m.Content))
	case *wire.Result:
		fmt.Fprintf(f.Out, "  [%s, $%.4f]\n", m.Subtype, m.TotalCostUSD)
	}
}

// block writes a piece of a message.
func (f *attachFlags) block(b wire.Block, before, agent string) {
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
	if agent != "" {
		before = "[" + visible.Text(agent) + "] " + before
	}
	switch b.Type {
	case "text":
		if strings.HasPrefix(v.Text, "<system-reminder>") {
			return // the harness's words for the model
		}
		fmt.Fprintf(f.Out, "%s%s\n", before, visible.Indented(v.Text))
	case "tool_use":
		fmt.Fprintf(f.Out, "%s● %s %s\n", before, visible.Text(v.Name), inOneLine(string(v.Input), 160))
	case "tool_result":
		mark := "→"
		if v.IsError {
			mark = "✗"
		}
		fmt.Fprintf(f.Out, "  %s %s\n", mark, inOneLine(resultText(v.Content), 160))
	}
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
