// Package cli is the haft command: it reads arguments, assembles what they ask
// for and writes to the streams it is given. It is the only package that knows
// about the process's streams, signals and exit codes.
//
// In every mode that programs read, standard output carries the promised format
// and nothing else; what people should know goes to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/haftdev/haft/internal/headless/launch"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/shellrun"
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command of this process and returns its exit code. In the
// supervisor of shell commands, which is the same program, it does not return.
func Main() int {
	reexec := shellrun.Supervise()
	delayFirstGC()
	ends := append([]os.Signal{os.Interrupt}, terminations()...)
	if converses(os.Args[1:]) {
		ends = ends[1:] // an interrupt stops the turn, not the process
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, func() {
		stop() // a second signal kills, as people expect
		time.AfterFunc(endTime, func() { os.Exit(exitTerminated) })
	})
	return run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, reexec)
}

// terminations are the signals that ask the process to end: by name, or because its
// terminal is gone. Who was started to outlive the terminal, as by nohup, does.
func terminations() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// endTime is how long the end may take after a signal: what hangs by then is left.
const endTime = 15 * time.Second

// Run runs one command line and returns its exit code. A program whose main is
// not [Main] has no supervisor for shell commands; see package shellrun.
func Run(ctx context.Context, args []string, s Streams) int {
	return run(ctx, args, s, shellrun.Reexec{})
}

func run(ctx context.Context, args []string, s Streams, reexec shellrun.Reexec) int {
	root := newRoot(s, reexec)
	if forProgram(args) {
		args = launch.Known(args, root.Flags(), s.Err)
	}
	root.SetArgs(normalize(args))
	return exitCode(root.ExecuteContext(ctx), s.Err)
}

func newRoot(s Streams, reexec shellrun.Reexec) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "haft",
		Short: "The handle that lets a language model hold tools",
		Long: `haft is a tool system for language models: every effect a model has on the
world goes through a tool, and every call of a tool goes through one controlled
pipeline of look-up, validation, hooks, permission, execution and bounded result.`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	})
	converse := &converseFlags{Streams: s, reexec: reexec}
	converse.define(root.Flags())
	help := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		credentialsFile().use()
		if converse.interactive(args) {
			return converse.interact(c, args)
		}
		if !converse.print && converse.Input != "stream-json" {
			return help(c, args)
		}
		return converse.run(c, args)
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w. Run '%s --help' for what there is", plainValue(err), c.CommandPath())}
	})
	root.AddCommand(newTools(s, reexec), newPermissions(s, reexec), newTrust(s), newDoctor(s, reexec), newMCP(s, reexec), newDemo(s, reexec))
	root.AddCommand(newSkills(s), newAgents(s), newCommands(s), newHooks(s), newSessions(s), newRewind(s), newPreview(s, reexec), newVersion(s))
	return root
}

// plainValue says what kind of value a flag wants, instead of how it was read.
func plainValue(err error) error {
	wrong := (*pflag.InvalidValueError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	want, ok := map[string]string{"int": "a whole number", "float64": "a number", "duration": "a time, such as 90s or 10m", "bool": "true or false"}[wrong.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s: %q is not %s", wrong.GetFlag().Name, wrong.GetValue(), want)
}

// newVersion is --version for those who type it as a command.
func newVersion(s Streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version", Args: exactly(0), Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.Out, "haft version %s\n", version())
			return err
		},
	}
}

// version is what the build knows of its own version.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// group is a command that only holds others: it explains itself, and refuses a
// word that is none of them.
func group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		hint := near.Hint(args[0], names)
		if hint == "" {
			hint = fmt.Sprintf(" Run '%s --help' for what there is.", c.CommandPath())
		}
		return usageError{fmt.Errorf("unknown command %q for '%s'.%s", args[0], c.CommandPath(), hint)}
	}
	return c
}

// exactly makes cobra's complaint about arguments say what is wanted.
func exactly(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usageError{fmt.Errorf("wrong number of arguments (%d, want %d). Usage: %s", len(args), n, c.UseLine())}
	}
}
