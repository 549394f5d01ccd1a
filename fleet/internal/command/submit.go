package command

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/fleet/internal/engine"
	"github.com/haftdev/haft/fleet/internal/runs"
	"github.com/haftdev/haft/internal/front/headless/launch"
)

func newSubmit(out io.Writer) *cobra.Command {
	join := &joinFlags{}
	var s runs.Submission
	var wait, asJSON bool
	place := &placeFlags{}
	cmd := &cobra.Command{
		Use: "submit [flags] PROMPT [-- HAFT-FLAGS]", Short: "Send a prompt to the fleet", Args: cobra.MinimumNArgs(1),
		Example: "  haft-fleet submit --wait 'fix the failing test' -- --permission-mode acceptEdits",
		RunE: func(cmd *cobra.Command, args []string) error {
			conn, err := join.connect(cmd.Context(), engine.Operator)
			if err != nil {
				return err
			}
			defer conn.Close()
			if err := place.apply(&s); err != nil {
				return err
			}
			s.Prompt.Text = args[0]
			if s.Args, err = launch.Submitted(args[1:], true); err != nil {
				return fmt.Errorf("could not submit the prompt: %w", err)
			}
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
	place.add(cmd, &s)
	flags := cmd.Flags()
	flags.StringVar(&s.ID, "run", "", "continue this run instead of starting a new one")
	flags.BoolVar(&s.Ask, "ask", false, "let a new run ask and wait for an answer (see 'haft-fleet questions') where a call would otherwise be denied")
	flags.StringVar(&s.Priority, "priority", runs.Normal, "priority of a new run: "+strings.Join(engine.Priorities(), ", "))
	flags.StringToStringVar(&s.Tags, "tag", nil, "tags of a new run, such as team=docs; 'runs ls --tag' finds them")
	flags.StringVar(&s.Prompt.UUID, "uuid", "", "id of the prompt: a prompt that is sent again with the same id does not run again")
	flags.BoolVar(&wait, "wait", false, "wait for the answer and print it")
	flags.BoolVar(&asJSON, "json", false, "with --wait: print the outcome as JSON")
	return cmd
}
