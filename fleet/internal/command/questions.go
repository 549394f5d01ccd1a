package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/journal"
	"github.com/haftdev/haft/fleet/internal/runs"
)

// newQuestions lists and answers what runs ask.
func newQuestions(out io.Writer) *cobra.Command {
	cmd := &cobra.Command{Use: "questions", Short: "List and answer the questions of runs that were submitted with --ask"}
	var asJSON bool
	ls := runsCommand("ls", "List open questions", cobra.NoArgs, func(ctx context.Context, conn *engine.Conn, tenant string, _ []string) error {
		list, err := runs.New(conn, tenant).Questions(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, q := range list {
			if asJSON {
				if q.Blob != "" {
					if q.Request, err = journal.New(conn, tenant, nil).Blobs().Get(ctx, q.Blob); err != nil {
						return fmt.Errorf("list questions: %w", err)
					}
				}
				if err := json.NewEncoder(out).Encode(q); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", q.ID, q.Asked.Local().Format(time.DateTime), q.Tool, cmp.Or(q.Title, string(q.Input)))
		}
		return table.Flush()
	})
	ls.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	cmd.AddCommand(ls, newAnswer("allow", "Allow the call", out), newAnswer("deny", "Deny the call", out))
	return cmd
}

// newAnswer answers a question.
func newAnswer(name, short string, out io.Writer) *cobra.Command {
	var a runs.Answer
	cmd := runsCommand(name, short, cobra.ExactArgs(1), func(ctx context.Context, conn *engine.Conn, tenant string, args []string) error {
		a.Allow = name == "allow"
		err := runs.New(conn, tenant).Answer(ctx, args[0], a)
		var first *runs.AnsweredError
		if errors.As(err, &first) {
			return fmt.Errorf("could not answer %s: it was already %w", args[0], first)
		}
		if err == nil {
			fmt.Fprintln(out, "answered")
		}
		return err
	})
	cmd.Use = name + " QUESTION"
	cmd.Flags().StringVar(&a.By, "by", cmp.Or(os.Getenv("USER"), "operator"), "name to record with the answer")
	cmd.Flags().StringVar(&a.Message, "message", "", "message to the model, such as the reason for a denial")
	return cmd
}
