package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/haftdev/haft/internal/harness"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/websearch"
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

// call runs calls in one session, until one does not succeed.
func (f *toolsFlags) call(ctx context.Context, args []string) error {
	say := remarks{f.Err}
	w, err := harness.Open(&harness.Options{Reexec: f.reexec, Bare: f.bare, Notice: say.notice, TrustProject: f.trust.project, IgnoreProjectHooks: f.trust.ignoreHooks, IgnoreBadRules: f.trust.ignoreBadRules})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Project.Intact(); err != nil {
		return err
	}
	say.all(w.Warnings())
	f.recoverFiles(w)
	feed := sched.NewFeed()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		f.showProgress(feed)
	}()
	defer func() {
		feed.Close()
		<-shown
	}()
	opts, err := f.pipeline(w, feed)
	if err != nil {
		return err
	}
	aside := *opts
	aside.Feeds = nil // what a skill runs is not what was asked for
	pool := w.Pool(w.Nested(aside))
	s := sched.New(opts)
	foreign, end, err := f.foreign(ctx, w, args...)
	if err != nil {
		return err
	}
	defer end()
	// Without the background flag: a command must not outlive this process.
	set := pool.Set(&tool.Session{Flags: map[string]bool{websearch.Flag: true}}, foreign...)
	set = set.Reveal(set.Session().Tools...)
	for i := 0; i < len(args); i += 2 {
		if err := f.callOne(ctx, s, pool.SetForManualCall(args[i], set, foreign...), args[i], args[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (f *toolsFlags) showProgress(feed *sched.Feed) {
	for e := range feed.Events(context.Background()) {
		if e.Progress != nil {
			fmt.Fprintln(f.Err, progressLine(e.Progress))
		}
	}
}

// recoverFiles fixes what an interrupted write left behind, and says so.
func (f *toolsFlags) recoverFiles(w *harness.World) {
	leftovers, err := w.Files.Recover()
	if err != nil {
		fmt.Fprintf(f.Err, "Could not check for interrupted writes: %v\n", err)
	}
	for _, l := range leftovers {
		fmt.Fprintf(f.Err, "%s: %s\n", l.Path, l.Action)
	}
}

func (f *toolsFlags) callOne(ctx context.Context, s *sched.Scheduler, set *tool.Set, name, input string) error {
	var raw []byte
	if input == "-" {
		var err error
		if raw, err = readAll(ctx, f.In); err != nil {
			return fmt.Errorf("could not read the input from standard input: %w", err)
		}
	} else {
		var err error
		if raw, err = given(set, name, input); err != nil {
			return err
		}
	}
	useID := fmt.Sprintf("cli-%d-%d", time.Now().UnixMicro(), os.Getpid())
	out := s.Call(ctx, set, useID, name, raw)
	if err := f.show(out); err != nil {
		return err
	}
	if out.Status == sched.Succeeded {
		return nil
	}
	return outcomeError{out.Status}
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

// pipeline is the pipeline of a session in this folder, for the user at the shell: what the
// rules deny stays denied, but what they would ask about was answered by typing the call.
func (f *toolsFlags) pipeline(w *harness.World, feed *sched.Feed) (*sched.Options, error) {
	audit, err := w.Audit()
	if err != nil {
		return nil, err
	}
	return &sched.Options{
		Judge:    w.Engine,
		Hooks:    w.CallHooks(),
		Askers:   []sched.Asker{w.Hooks, sched.AskerFunc(typedByThePerson)},
		Recorder: audit,
		Feeds:    []*sched.Feed{feed},
		Output:   w.Project.Results(),
		Dir:      w.Shell.Dir,
	}, nil
}

func typedByThePerson(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
	return tool.Verdict{Behavior: tool.Allow, Reason: "the user typed the call on the command line"}, nil
}
