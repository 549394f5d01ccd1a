//go:build unix

package haft_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/wire"
)

// The tests start this test binary as the command line. HAFT_STUB says how it
// behaves; the examples, which start what HAFT_CLI names, get one that plays
// their agent.
func TestMain(m *testing.M) {
	if how := os.Getenv("HAFT_STUB"); how != "" {
		os.Exit(stub(how))
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if scratch, err = os.MkdirTemp("", "haft-test-"); err != nil {
		panic(err)
	}
	os.Setenv("HAFT_CLI", self)
	os.Setenv("HAFT_STUB", "plays the examples")
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// scratch is a folder for all tests.
var scratch string

// stubbed returns options that start the stub.
func stubbed(t testing.TB, how string) *haft.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &haft.Options{CLI: self, Env: append(os.Environ(), "HAFT_STUB="+how), Grace: 300 * time.Millisecond}
}

// A fake is a command line without an agent.
type fake struct {
	*wire.Conn
	out   *wire.Writer
	how   string
	hello *wire.Initialize
	asked chan *wire.User
	turns int
	// interrupted tells a turn that waits for it of an interrupt.
	interrupted chan struct{}
}

func stub(how string) int {
	switch how {
	case "will not start":
		fmt.Fprintln(os.Stderr, "error: unknown option '--verbose'")
		return 1
	case "will not listen":
		os.Stdin.Close()
		time.Sleep(time.Hour)
	case "will not answer":
		fmt.Fprintln(os.Stderr, "waiting for a login")
		time.Sleep(time.Hour)
	case "will not end":
		signal.Ignore(syscall.SIGTERM)
	}
	f := &fake{how: how, interrupted: make(chan struct{}, 1), out: wire.NewWriter(os.Stdout), asked: make(chan *wire.User, 100)}
	f.Conn = wire.NewConn(wire.Lines(wire.NewReader(os.Stdin), f.out), &wire.ConnOptions{Handle: f.handle,
		Ordered: func(r wire.Request) bool { return r.Subtype() == "initialize" }})
	ended := make(chan int)
	go func() {
		code := 0
		for m := range f.asked {
			code = f.turn(m)
		}
		ended <- code
	}()
	_ = f.Run(context.Background(), func(m wire.Message) {
		if u, ok := m.(*wire.User); ok {
			f.asked <- u
		}
		if how == "stops reading" {
			needtest.Hang()
		}
	})
	close(f.asked)
	code := <-ended
	if how == "will not end" || how == "ends when asked" {
		time.Sleep(time.Hour)
	}
	return code
}

func (f *fake) handle(ctx context.Context, r wire.Request) (any, error) {
	switch r := r.(type) {
	case *wire.Initialize:
		f.hello = r
		return wire.InitializeReply{PID: os.Getpid(), HookOnFailureSupported: true}, nil
	case *wire.Interrupt:
		select {
		case f.interrupted <- struct{}{}:
		default: // nobody waits for one
		}
		return wire.InterruptReply{StillQueued: []string{"u1"}}, nil
	case *wire.SetModel:
		return wire.SetModelReply{Model: "full-" + r.Model}, nil
	case *wire.SetPermissionMode:
		if r.Mode == "odd" {
			return nil, &wire.ControlError{Code: wire.ErrorInvalidMode, Message: "no such mode"}
		}
		return wire.SetPermissionModeReply{Mode: r.Mode}, nil
	case *wire.MCPStatus:
		if f.how == "answers late" {
			time.Sleep(time.Second)
		}
		return wire.MCPStatusReply{MCPServers: []wire.MCPServerStatus{{Name: "calc", Status: "connected"}}}, nil
	case *wire.MCPSetServers:
		var added []string
		for _, name := range slices.Sorted(maps.Keys(r.Servers)) {
			added = append(added, name+" "+string(r.Servers[name]))
		}
		return wire.MCPSetServersReply{Added: added}, nil
	case *wire.GetContextUsage:
		return wire.ContextUsage{TotalTokens: 42}, nil
	case *wire.RewindFiles:
		return wire.RewindFilesReply{CanRewind: true, FilesChanged: []string{r.UserMessageID}}, nil
	case *wire.SetMaxThinkingTokens:
		return nil, nil
	}
	return nil, wire.Unsupported(r)
}

func stamp() wire.Stamp { return wire.Stamp{UUID: "u", SessionID: "s"} }

func (f *fake) state(s string) {
	f.Send(&wire.SessionStateChanged{Stamp: stamp(), State: s, SDKHostOnly: true})
}

// turn plays one turn and returns the exit code that it calls for.
func (f *fake) turn(prompt *wire.User) int {
	f.turns++
	f.state(wire.StateRunning)
	f.Send(&wire.Init{Stamp: stamp()})
	if f.how == "plays the examples" {
		return f.example(prompt.Message.Content.String())
	}
	text, bad := f.play(prompt.Message.Content.String())
	f.Send(&wire.Assistant{Stamp: stamp(), Message: wire.AssistantMessage{Content: []wire.Block{wire.Text(text)}}})
	result := &wire.Result{Stamp: stamp(), Subtype: wire.ResultSuccess, Result: text, NumTurns: f.turns, IsError: bad}
	if f.how == "costs a dollar" {
		result.TotalCostUSD = 1
	}
	if f.how == "structured" {
		result.StructuredOutput = json.RawMessage(text)
	}
	f.Send(result)
	f.state(wire.StateIdle)
	if bad {
		return 1
	}
	return 0
}

// play does what the stub is for and returns the turn's text.
func (f *fake) play(prompt string) (text string, bad bool) {
	reply := func(r wire.Request) string {
		var raw json.RawMessage
		if err := f.Call(context.Background(), r, &raw); err != nil {
			return err.Error()
		}
		return string(raw)
	}
	switch f.how {
	case "costs a dollar":
		for _, arg := range os.Args {
			if most, ok := strings.CutPrefix(arg, "--max-budget-usd="); ok {
				return most, false
			}
		}
	case "shows what it was given":
		hello, _ := json.Marshal(f.hello)
		var env []string
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "CLAUDE_CODE_") || strings.HasPrefix(v, "CLAUDE_AGENT_") {
				env = append(env, v)
			}
		}
		slices.Sort(env)
		all, _ := json.Marshal(map[string]any{"args": os.Args[1:], "hello": json.RawMessage(hello), "env": env})
		return string(all), false
	case "asks":
		return reply(&wire.CanUseTool{ToolName: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(`{"command":"ls"}`)}), false
	case "asks after its result":
		f.Send(&wire.Result{Stamp: stamp(), Subtype: wire.ResultSuccess})
		time.Sleep(100 * time.Millisecond) // a host that closes its input too early has done so by then
		var p wire.PermissionAnswer
		if err := f.Call(context.Background(), &wire.CanUseTool{ToolName: "Bash"}, &p); err != nil {
			return err.Error(), true
		}
		return p.Behavior, false
	case "asks and takes it back":
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		err := f.Call(ctx, &wire.CanUseTool{ToolName: "Bash"}, nil)
		return err.Error(), false
	case "runs hooks":
		var all []string
		for _, event := range slices.Sorted(maps.Keys(f.hello.Hooks)) {
			for _, m := range f.hello.Hooks[event] {
				in := json.RawMessage(fmt.Sprintf(`{"hook_event_name":%q,"tool_name":"Bash"}`, event))
				all = append(all, reply(&wire.HookCallback{CallbackID: m.HookCallbackIDs[0], Input: in}))
			}
		}
		return strings.Join(all, "\n"), false
	case "speaks MCP":
		var all []string
		for line := range strings.Lines(prompt) {
			server, message, _ := strings.Cut(line, " ")
			all = append(all, reply(&wire.MCPMessage{ServerName: server, Message: json.RawMessage(message)}))
		}
		return strings.Join(all, "\n"), false
	case "structured":
		return prompt, false
	case "fails":
		return "API Error: overloaded", true
	}
	return f.misbehave(prompt)
}

func (f *fake) misbehave(prompt string) (text string, bad bool) {
	switch f.how {
	case "writes garbage":
		os.Stdout.WriteString("Segmentation fault (not really)\n\n{\"type\":\"from_the_future\",\"x\":1}\n{\"type\":5}\n\x00\xff\n")
	case "dies in a line":
		os.Stdout.WriteString(`{"type":"assistant","mess`)
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	case "dies by a signal":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "ends too early":
		os.Exit(0)
	case "writes much":
		return strings.Repeat("x", 1<<20), false
	case "closes its output":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	case "stops reading":
		time.Sleep(time.Hour)
	case "asks a lot":
		var answers sync.WaitGroup
		var allowed atomic.Int32
		for range 1000 {
			answers.Go(func() {
				var p wire.PermissionAnswer
				if f.Call(context.Background(), &wire.CanUseTool{ToolName: "Bash"}, &p) == nil && p.Behavior == wire.BehaviorAllow {
					allowed.Add(1)
				}
			})
		}
		answers.Wait()
		return fmt.Sprint(allowed.Load()), false
	case "leaves a child":
		c := exec.Command("sleep", "30")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			return err.Error(), true
		}
		return fmt.Sprint(c.Process.Pid), false
	case "is slow", "is slow and will not end":
		time.Sleep(time.Hour)
	}
	return "you said " + prompt, false
}
