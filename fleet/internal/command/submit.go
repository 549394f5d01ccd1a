package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/runs"
)

func newSubmit(out io.Writer) *cobra.Command {
	join := &joinFlags{}
	var s runs.Submission
	var wait, asJSON bool
	var host string
	cmd := &cobra.Command{
		Use: "submit [flags] PROMPT [-- HAFT-FLAGS]", Short: "Send a prompt to the fleet", Args: cobra.MinimumNArgs(1),
		Example: "  haft-fleet submit --wait 'fix the failing test' -- --permission-mode acceptEdits",
		RunE: func(cmd *cobra.Command, args []string) error {
			conn, err := join.connect(cmd.Context(), "operator.nk")
			if err != nil {
				return err
			}
			defer conn.Close()
			if s.Dir == "" {
				if s.Dir, err = os.Getwd(); err != nil {
					return err
				}
			}
			if host != "" {
				s.Class = runs.OnHost(host)
			}
			s.Prompt.Text, s.Args = args[0], args[1:]
			r := runs.New(conn, join.tenant)
			id, prompt, err := r.Submit(cmd.Context(), &s)
			if err != nil {
				return err
			}
			if !wait {
				fmt.Fprintln(out, id)
				return nil
			}
			res, err := r.Await(cmd.Context(), id, prompt)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(out).Encode(map[string]any{"id": id, "prompt": prompt, "outcome": res})
			} else {
				fmt.Fprintln(out, res.Text)
			}
			if err == nil && res.IsError {
				err = errFailed
			}
			return err
		},
	}
	join.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&s.ID, "run", "", "continue this run instead of starting a new one")
	flags.StringVar(&s.Class, "label", runs.AnyWorker, "which workers may take a new run")
	flags.BoolVar(&s.Ask, "ask", false, "let a new run wait for approval ('haft-fleet questions') where it would be denied")
	flags.StringVar(&host, "host", "", "only workers on this host may take a new run")
	flags.StringVar(&s.Priority, "priority", runs.Normal, "priority of a new run: "+strings.Join(runs.Priorities(), ", "))
	flags.StringToStringVar(&s.Tags, "tag", nil, "tags of a new run, such as team=docs; 'runs ls --tag' finds them")
	cmd.MarkFlagsMutuallyExclusive("label", "host")
	flags.StringVar(&s.Dir, "dir", "", "working directory of a new run on the worker's machine; defaults to the current path")
	flags.StringVar(&s.Prompt.UUID, "uuid", "", "id of the prompt; a prompt with the same id runs only once")
	flags.BoolVar(&wait, "wait", false, "wait for the answer and print it")
	flags.BoolVar(&asJSON, "json", false, "with --wait: print the outcome as JSON")
	return cmd
}
