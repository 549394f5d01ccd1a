package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newToolsCall(f *toolsFlags) *cobra.Command {
	c := &cobra.Command{
		Use:   "call NAME INPUT|- [NAME INPUT]…",
		Short: message("Run tools; progress goes to standard error, results to standard output"),
		Long: `Run a tool, or several in sequence in one session, through the same pipeline
as a model's calls. An input is a JSON object, or - to read one from standard
input; for a tool that needs only one field, the value of that field is enough. Progress and
notices go to standard error, results to standard output. If a call does not succeed, the ones after it are not run.

Exit codes: 0 every call succeeded, 1 a call failed, 2 there is no such tool or
the input is invalid, 3 a call was denied, 130 a call was cancelled.`,
		Example: `  haft tools call Grep TODO
  haft tools call Grep '{"pattern": "TODO", "output_mode": "count"}'
  haft tools call Read '{"file_path": "/src/a.go"}' Edit '{"file_path": "/src/a.go", "old_string": "x", "new_string": "y"}'
  echo '{"query": "select:Sleep"}' | haft tools call ToolSearch - --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || len(args)%2 != 0 {
				return usageError{fmt.Errorf("give an input after each tool's name. Usage: %s", c.UseLine())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.call(c.Context(), args) },
	}
	f.trust.define(c.Flags())
	return c
}

// readAll reads to the end, unless ctx ends first: the read itself cannot be interrupted,
// but no one has to wait for it.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxInput+1)) // one more is refused by the pipeline
		done <- read{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

const maxInput = 32 << 20
