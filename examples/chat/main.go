// Command chat is a conversation with an agent, line by line. A hook denies commands that delete
// files, ctrl+c interrupts a turn, and the session can be resumed later.
//
//	go run ./examples/chat
//	go run ./examples/chat -resume SESSION
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"github.com/haftdev/haft"
)

func main() {
	resume := flag.String("resume", "", "`SESSION` to resume")
	flag.Parse()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	if err := chat(context.Background(), os.Stdin, os.Stdout, interrupts, haft.Options{Resume: *resume}); err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

// chat sends each line as a prompt; opts say how haft is started.
func chat(ctx context.Context, in io.Reader, out io.Writer, interrupts <-chan os.Signal, opts haft.Options) error {
	opts.Hooks = append(opts.Hooks, haft.Hook{Event: haft.PreToolUse, Matcher: "Bash", Func: keepFiles})
	c, err := haft.NewClient(ctx, &opts)
	if err != nil {
		return err
	}
	defer c.Close()
	session := ""
	for lines := bufio.NewScanner(in); lines.Scan(); {
		result, err := turn(ctx, c, lines.Text(), out, interrupts)
		if err != nil {
			return err
		}
		session = result.SessionID
	}
	if session != "" {
		fmt.Fprintf(out, "Continue with: chat -resume %s\n", session)
	}
	return nil
}

// turn sends a prompt and prints what happens until the turn ends. An interrupt ends it early.
func turn(ctx context.Context, c *haft.Client, prompt string, out io.Writer, interrupts <-chan os.Signal) (result *haft.Result, err error) {
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-interrupts:
			_, _ = c.Interrupt(ctx) // the turn has ended if it fails
		case <-over:
		}
	})
	defer watching.Wait()
	defer close(over)
	for m, err := range c.Turn(prompt) {
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *haft.Assistant:
			for _, use := range haft.ToolUses(m) {
				fmt.Fprintf(out, "calls %s %s\n", use.Name, use.Input)
			}
		case *haft.Result:
			result = m
		}
	}
	if result.IsError {
		fmt.Fprintln(out, "The turn was interrupted, or failed.")
	} else {
		fmt.Fprintln(out, result.Result)
	}
	return result, nil
}

// keepFiles sees each command before it runs, and denies those that contain "rm ". It only shows
// how a hook works: a deny rule such as Bash(rm:*) also recognises other spellings.
func keepFiles(_ context.Context, in *haft.HookInput) (*haft.HookOutput, error) {
	if strings.Contains(string(in.ToolInput), "rm ") {
		return haft.DenyCall("Nothing is deleted here."), nil
	}
	return haft.AddContext("Files must stay where they are."), nil
}
