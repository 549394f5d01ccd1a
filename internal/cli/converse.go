package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/headless"
	"github.com/haftdev/haft/internal/headless/launch"
	"github.com/haftdev/haft/internal/live"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/wire"
)

// converseFlags are the flags of a conversation that runs in this process.
type converseFlags struct {
	Streams
	launch.Flags
	reexec shellrun.Reexec

	print   bool
	verbose bool
	plain   bool
	onAsk   string

	worktree string
	on       string // the server to talk on
	// tokenFile has its token.
	tokenFile string
	attachTo  string // the session to watch instead of having a conversation
}

// What a question that no one can answer does to the exit code.
const (
	onAskDeny = "deny"
	onAskFail = "fail"
)

// converse is haft without a command: a conversation.
func (f *converseFlags) run(c *cobra.Command, args []string) error {
	if f.on != "" {
		return f.runOn(c, args)
	}
	opts, err := f.options(c.Flags())
	if err != nil {
		return err
	}
	if f.Input == "stream-json" {
		return f.serve(c.Context(), opts)
	}
	if c.Flags().Changed("resume") && f.Resume == "" {
		return usageError{errors.New("--resume needs a session id here; use --continue for the newest session")}
	}
	if err := f.Check(); err != nil {
		return usageError{err}
	}
	prompt, err := f.prompt(c.Context(), args)
	if err != nil {
		return err
	}
	return f.answer(c.Context(), opts, prompt)
}

// serve speaks stream-json with the program that started haft.
func (f *converseFlags) serve(ctx context.Context, opts *headless.Options) error {
	opts.Interrupts, opts.StreamClosed = interrupts(ctx), stdoutClosed(f.Out)
	stream := wire.Lines(wire.NewReader(f.In), wire.NewWriter(f.Out))
	return code(ctx, f.serveConversation(ctx, stream, opts))
}

// serveConversation runs a conversation to its end and returns the exit code; every
// headless run goes through it. If the output format has no events, standard error says
// which calls were denied because no one could be asked.
func (f *converseFlags) serveConversation(ctx context.Context, stream wire.Stream, opts *headless.Options) int {
	d := &denials{watch: opts.Watch}
	if f.Output != "stream-json" {
		d.out = f.Err
	}
	opts.Watch = d.show
	code := headless.Serve(ctx, stream, opts)
	if code == exitOK && d.n > 0 && f.onAsk == onAskFail {
		return exitDenied
	}
	return code
}

func (d *denials) show(ev agent.Event) error {
	if r, ok := ev.(agent.Returned); ok && (r.Outcome.Status == sched.Denied && r.Outcome.Verdict.Unasked || len(r.Outcome.Verdict.Dropped) > 0) {
		d.n++
		if d.out != nil {
			fmt.Fprintf(d.out, "haft: %s\n", visible.Indented(deniedLine(r.Outcome)))
		}
	}
	if d.watch == nil {
		return nil
	}
	return d.watch(ev)
}

// options translates the flags into the options of lower packages.
func (f *converseFlags) options(fs *pflag.FlagSet) (*headless.Options, error) {
	o, err := f.Flags.Options(fs, version())
	if err != nil {
		return nil, usageError{err}
	}
	if err := f.checkOnAsk(); err != nil {
		return nil, err
	}
	for _, note := range launch.Ineffective(fs) {
		fmt.Fprintf(f.Err, "haft: %s\n", note)
	}
	o.Log, o.Harness.Reexec, o.Talk.Watch = f.Err, f.reexec, live.Open(version())
	if f.DebugFile != "" {
		log, err := os.OpenFile(f.DebugFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, usageError{fmt.Errorf("--debug-file: %w", err)}
		}
		f.Debug, o.Log = "all", log // it is open until the process ends
		fmt.Fprintf(log, "%s haft %s, process %d\n", time.Now().Format(time.RFC3339), version(), os.Getpid())
	}
	return o, nil
}

func (f *converseFlags) checkOnAsk() error {
	if f.onAsk != onAskDeny && f.onAsk != onAskFail {
		return usageError{fmt.Errorf("--on-ask %s: use deny, or fail for exit code %d", f.onAsk, exitDenied)}
	}
	return nil
}

// prompt is what the user says: the arguments, and what is piped in.
func (f *converseFlags) prompt(ctx context.Context, args []string) (string, error) {
	prompt := strings.Join(args, " ")
	if piped(f.In) {
		raw, err := readAll(ctx, f.In)
		if err != nil {
			return "", fmt.Errorf("could not read the prompt from standard input: %w", err)
		}
		if len(raw) > maxInput {
			return "", usageError{errors.New("standard input is too long for a prompt: it is more than " + strconv.Itoa(maxInput>>20) + " MB")}
		}
		prompt = strings.TrimSpace(prompt + "\n\n" + string(raw))
	}
	if prompt == "" {
		return "", usageError{errors.New(`no prompt given: use haft -p "…", or pipe the prompt in. To see haft work without an API key, run: haft demo`)}
	}
	return prompt, nil
}

// piped reports whether something other than a user's keyboard is at in.
func piped(in io.Reader) bool {
	file, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
