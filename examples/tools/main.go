// Command tools is a program with three tools of its own, in the process of the conversation:
// one that only reads, one that asks and shows what it would change, and one that takes long.
//
//	go run ./examples/tools "How many orders does Ulm have? Open a ticket about it."
//
// docs/write-tools.md builds them step by step.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/haftdev/haft"
	"github.com/haftdev/haft/embed"
	"github.com/haftdev/haft/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout, strings.Join(os.Args[1:], " "), haft.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
		os.Exit(1)
	}
}

// Own are the tools of this program.
func own() []tool.Tool { return []tool.Tool{queryOrders(), openTicket(), buildReport()} }

// run answers one prompt, and asks about calls on in.
func run(ctx context.Context, in io.Reader, out io.Writer, prompt string, opts haft.Options) error {
	opts.Transport = embed.New(&embed.Options{Tools: own()})
	answers := bufio.NewScanner(in)
	opts.CanUseTool = func(_ context.Context, r *haft.ToolRequest) (*haft.Permission, error) {
		fmt.Fprintf(out, "%s wants to run with %s. Allow? (y/n) ", r.ToolName, r.Input)
		if answers.Scan() && answers.Text() == "y" {
			return haft.Allow(), nil
		}
		return haft.Deny("the user does not want that"), nil
	}
	for m, err := range haft.Query(ctx, prompt, &opts) {
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *haft.User:
			for _, answer := range haft.ToolAnswers(m) {
				fmt.Fprintf(out, "result: %s\n", answer.Text)
			}
		case *haft.Result:
			fmt.Fprintln(out, m.Result)
		}
	}
	return nil
}
