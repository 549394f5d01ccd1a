package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"

	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/headless"
	"github.com/haftdev/haft/internal/front/tui"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/harness/preview"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/sys/pathin"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

type previewFlags struct {
	Streams
	reexec    shellrun.Reexec
	json, yes bool
	timeout   time.Duration
}

func newPreview(s Streams, reexec shellrun.Reexec) *cobra.Command {
	f := &previewFlags{Streams: s, reexec: reexec}
	c := &cobra.Command{
		Use:   "preview [flags] -- COMMAND [ARGUMENT]…",
		Short: message("Run a command, review its changes, then apply or drop them"),
		Long: `Run a command without changing anything yet: it sees your project as it is, but what it
writes goes to a layer on top, and it has no network. Then its output and changes
are shown, and you are asked whether to apply them. Applying makes exactly the changes
that were shown; the command is not run again. Without a terminal, they are dropped
unless you give --yes. If another program has changed a file since the command ran, both
changes are merged; if they conflict, nothing is applied.

If you pass a single argument, it is run as a shell command line:
haft preview -- 'make gen && ./fix.sh'.

To undo what was applied, run the 'haft rewind' command that is printed.

Exit codes: 0 the command ran and its changes were shown, 1 it could not be previewed or
applied, 2 wrong usage. The command's own exit code is printed.`,
		Example: "  haft preview -- npm install left-pad\n  haft preview --yes -- 'go generate ./... && gofmt -w .'\n  haft preview --json -- make clean",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("no command given. Usage: %s", c.UseLine())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().SetInterspersed(false) // the command's own flags are not ours
	c.Flags().BoolVar(&f.json, "json", false, "write JSON; without --yes, the changes are dropped")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "apply the changes without asking")
	c.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long the command may run")
	return c
}

// previewed is what a program reads.
type previewed struct {
	Command  string       `json:"command"`
	ExitCode int          `json:"exitCode"`
	Output   string       `json:"output"`
	Copy     string       `json:"copy,omitempty"` // why it ran in a copy of the project
	Refused  []string     `json:"refusedHosts,omitempty"`
	Change   *wire.Change `json:"change"`
	Applied  bool         `json:"applied"`
	Session  string       `json:"session,omitempty"`
	Undo     string       `json:"undo,omitempty"`
}

func (f *previewFlags) run(ctx context.Context, args []string) (err error) {
	command, err := commandOf(args)
	if err != nil {
		return usageError{err}
	}
	p, err := project.Open(&project.Options{Reexec: f.reexec})
	if err != nil {
		return fmt.Errorf("could not preview the command: %w", err)
	}
	if err := p.Intact(); err != nil { // a file that cannot be read may say what to hide
		return fmt.Errorf("could not preview the command: %w", err)
	}
	hidden, _ := p.Boxes.Command(tool.ReadOnly, p.Guard)
	request, err := p.Boxes.Preview(hidden, p.Guard)
	if err != nil {
		return err
	}
	store, dir := session.Open(""), request.Dirs[0]
	if err := f.finishEarlier(ctx, store, dir); err != nil {
		return err
	}
	host := shellrun.NewHost(&shellrun.Options{Reexec: f.reexec})
	defer func() { err = errors.Join(err, host.Close()) }()
	if tier := host.Tier(sandbox.Offline); tier.Kind != sandbox.TierBox {
		return fmt.Errorf("could not preview the command. %s 'haft doctor' says what would change that", tier.Lost())
	}
	cwd, err := os.Getwd()
	if err == nil {
		cwd, err = filepath.EvalSymlinks(cwd) // a link in /tmp is not there in a preview
	}
	if err != nil {
		return err
	}
	_ = preview.Sweep(request.Store) // what a killed process left
	request.Shell, request.Command = host.NewShell(cwd), shellrun.Request{Command: command, Timeout: f.timeout}
	r, err := preview.Run(ctx, request)
	if r != nil {
		defer func() { err = errors.Join(err, r.Drop()) }()
	}
	if err != nil {
		if r != nil && !f.json {
			fmt.Fprint(f.Out, outputOf(r))
		}
		if ctx.Err() != nil {
			fmt.Fprintln(f.Err, "The command was stopped, and its changes are dropped.")
			return codeError(exitCancelled)
		}
		return fmt.Errorf("could not preview the command: %w", err)
	}
	return f.decide(ctx, store, dir, command, r)
}

// commandOf is one word for the shell, or a program with its arguments.
func commandOf(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	words := make([]string, len(args))
	for i, a := range args {
		word, err := syntax.Quote(a, syntax.LangBash)
		if err != nil {
			return "", fmt.Errorf("argument %d cannot be passed to a shell: %w", i+1, err)
		}
		words[i] = word
	}
	return strings.Join(words, " "), nil
}

// finishEarlier finishes what a process that was killed had begun to apply here.
func (f *previewFlags) finishEarlier(ctx context.Context, store *session.Store, dir string) error {
	list, err := store.List(&session.ListOptions{Cwd: dir})
	if err != nil {
		return nil // there are no sessions yet
	}
	for _, info := range list {
		if !checkpoint.Interrupted(info.Path) {
			continue
		}
		s, err := store.Resume(ctx, info.ID, nil)
		if err != nil {
			return fmt.Errorf("could not finish a change that was interrupted: %w", err)
		}
		left, err := checkpoint.New(dir, s, nil).Recover(ctx)
		if err = errors.Join(err, s.Close()); err != nil {
			return fmt.Errorf("could not finish a change that was interrupted: %w", err)
		}
		fmt.Fprintf(f.Err, "Finished a change that was interrupted: %s.\n", plural.Of(len(left.Restored), "file"))
		for _, path := range left.Left {
			fmt.Fprintf(f.Err, "%s has changed since, so it stays as it is.\n", visible.Text(path))
		}
	}
	return nil
}

func outputOf(r *preview.Result) string { return r.Task.Output().Excerpt(1<<20, true).Text }

// decide shows the change and applies or drops it.
func (f *previewFlags) decide(ctx context.Context, store *session.Store, dir, command string, r *preview.Result) error {
	change, err := r.Preview(ctx)
	if err != nil {
		return fmt.Errorf("could not preview the command: %w", err)
	}
	out := &previewed{Command: command, ExitCode: r.Task.Result().Status.Code, Output: outputOf(r), Copy: r.Copied, Refused: r.Refused, Change: headless.ChangeOf(change)}
	apply := f.yes && r.Changed()
	if !f.json {
		f.show(dir, out, change)
		if r.Changed() && !f.yes {
			if apply, err = f.confirm(ctx); err != nil {
				return err
			}
		}
	}
	if apply {
		if err := f.apply(ctx, store, dir, r, change.Digest(), out); err != nil {
			return err
		}
	}
	return f.tell(out, r.Changed(), len(r.Outside) > 0)
}

func (f *previewFlags) show(dir string, out *previewed, change *tool.Preview) {
	fmt.Fprint(f.Out, out.Output)
	if out.Output != "" && !strings.HasSuffix(out.Output, "\n") {
		fmt.Fprintln(f.Out)
	}
	files, summary := card.Changes(change, nil)
	fmt.Fprintf(f.Out, "── exit code %d%s\n", out.ExitCode, counted(change))
	for _, d := range files {
		if rel, ok := pathin.Below(dir, d.Path); ok && rel != "" {
			d.Path = rel
		}
		head := d.Head()
		if head == "" {
			head = visible.Text(d.Path)
		}
		fmt.Fprintln(f.Out, head)
		for _, h := range d.Hunks {
			fmt.Fprintf(f.Out, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
			for _, line := range h.Lines {
				fmt.Fprintln(f.Out, visible.Text(line))
			}
		}
	}
	for _, line := range summary[min(2, len(summary)):] { // the first two are for a session
		fmt.Fprintln(f.Out, line)
	}
}

// counted says how many files a change is about; "" for none.
func counted(change *tool.Preview) string {
	var added, deleted, changed int
	for _, f := range change.Files {
		switch {
		case f.Folded == tool.FoldedGit:
		case f.Before == nil:
			added++
		case f.After == nil:
			deleted++
		default:
			changed++
		}
	}
	if added+deleted+changed == 0 {
		return ""
	}
	return fmt.Sprintf(", %s changed, %d added, %d deleted", plural.Of(changed, "file"), added, deleted)
}

// confirm asks the user. If no one can be asked, nothing is applied.
func (f *previewFlags) confirm(ctx context.Context) (bool, error) {
	if !tui.IsTerminal(f.In, f.Out) {
		return false, nil
	}
	return f.agrees(ctx, "Apply these changes?", "Dropped: nothing was changed.")
}

func (f *previewFlags) apply(ctx context.Context, store *session.Store, dir string, r *preview.Result, shown string, out *previewed) (err error) {
	now, err := r.Preview(ctx)
	if err != nil {
		return fmt.Errorf("could not apply the changes: %w", err)
	}
	if now.Digest() != shown {
		fmt.Fprintln(f.Err, "Another program has changed these files since; its changes and the command's are merged.")
		out.Change = headless.ChangeOf(now)
	}
	last, err := store.Latest(dir)
	if err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	s, err := store.Create(ctx, &session.CreateOptions{Cwd: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out.Undo = "preview-" + session.NewUUID()
	if err := r.Apply(ctx, s, out.Undo); err != nil {
		return fmt.Errorf("could not apply the changes: %w", err)
	}
	out.Applied, out.Session = true, s.ID()
	if err := harness.SetTitle(ctx, s, "preview: "+inOneLine(out.Command, 100)); err != nil {
		fmt.Fprintf(f.Err, "Could not set a title for this preview's session: %v\n", err)
	}
	if err := noteApplied(ctx, store, last, dir, out); err != nil {
		fmt.Fprintf(f.Err, "Could not tell the model of the last conversation here about the changes: %v\n", err)
	}
	return nil
}

// noteApplied leaves a note for the model of the last conversation here, which would
// otherwise rely on what it has read.
func noteApplied(ctx context.Context, store *session.Store, last, dir string, out *previewed) (err error) {
	if last == "" {
		return nil
	}
	s, err := store.Resume(ctx, last, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Restored().Messages == 0 {
		return nil // another preview
	}
	var files []string
	for _, f := range out.Change.Files {
		files = append(files, f.Path)
	}
	return harness.NoteApplied(ctx, s, out.Command, files, dir)
}

func (f *previewFlags) tell(out *previewed, changed, outside bool) error {
	if f.json {
		e := json.NewEncoder(f.Out)
		e.SetIndent("", "  ")
		return e.Encode(out)
	}
	switch {
	case !changed && outside:
		fmt.Fprintln(f.Out, "The command changed nothing in the project.")
	case !changed:
		fmt.Fprintln(f.Out, "The command changed nothing.")
	case out.Applied:
		fmt.Fprintf(f.Out, "Applied. To undo: haft rewind %s --to %s\n", out.Session, out.Undo)
	default:
		fmt.Fprintln(f.Out, "Dropped: nothing was changed. To apply the changes, run this again with --yes.")
	}
	return nil
}
