// Command batch asks each line of standard input, several at once, and spends no more than a
// total.
//
//	go run ./examples/batch -total 1 -each 0.10 <questions.txt
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"

	"github.com/haftdev/haft"
)

func main() {
	total := flag.Float64("total", 1, "what all answers may cost together, in US dollars")
	each := flag.Float64("each", 0.10, "what one answer may cost")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	batch(ctx, os.Stdin, os.Stdout, *total, *each, 4, haft.Options{Tools: []string{"Read", "Grep", "Glob"}})
}

// batch answers each line of in; opts say how haft is started.
func batch(ctx context.Context, in io.Reader, out io.Writer, total, each float64, workers int, opts haft.Options) {
	opts.Budget, opts.MaxBudgetUSD = haft.NewBudget(total), each
	prompts, answers := make(chan string), make(chan string)
	go func() {
		defer close(prompts)
		for lines := bufio.NewScanner(in); lines.Scan(); {
			prompts <- lines.Text()
		}
	}()
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for prompt := range prompts {
				answers <- prompt + ": " + answer(ctx, prompt, &opts)
			}
		})
	}
	go func() {
		working.Wait()
		close(answers)
	}()
	for line := range answers {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "spent $%.2f of $%.2f\n", opts.Budget.Spent(), total)
}

func answer(ctx context.Context, prompt string, opts *haft.Options) string {
	result, err := haft.Ask(ctx, prompt, opts)
	switch {
	case errors.Is(err, haft.ErrBudget):
		return "not asked: the budget is spent"
	case err != nil:
		return "failed: " + err.Error()
	}
	return result.Result
}
