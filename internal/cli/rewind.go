package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/workspace/blob"
	"github.com/haftdev/haft/session"
)

type rewindFlags struct {
	Streams
	json, dryRun, force, yes bool
	to                       string
}

func newRewind(s Streams) *cobra.Command {
	f := &rewindFlags{Streams: s}
	c := &cobra.Command{
		Use:   "rewind [SESSION]",
		Short: message("Restore files to how they were before a message or call"),
		Long: message(`Restore files to how they were just before a message or call, whatever changed
them since: a file tool, a shell command or an MCP server's tool. Without --to,
rewind to your last message.

The changes are shown and you are asked first. Without a terminal, use --yes,
or --json in a program.

If some of these files were changed since, outside the session, haft lists them and does nothing,
unless you give --force. A rewind is atomic. To undo it, rewind to the id
that it prints. The conversation stays as it is.`),
		Example: "  haft rewind --dry-run\n  haft rewind 3f9a1c --to 0c0ffee0-0000-4000-8000-000000000000",
		Args:    atMost(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	c.Flags().BoolVar(&f.force, "force", false, "overwrite changes that were made since outside the session")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "rewind without asking")
	c.Flags().StringVar(&f.to, "to", "", "id, or the beginning of the id, of a message (see 'haft sessions show'), a call or an earlier rewind")
	return c
}

// rewound is what a program reads.
type rewound struct {
	Session string `json:"session"`
	*checkpoint.Plan
	Done bool   `json:"done"`
	Undo string `json:"undo,omitempty"`

	title string // of the session
}

func (f *rewindFlags) run(ctx context.Context, args []string) error {
	store := session.Open("")
	id, err := chosen(store, args)
	if err != nil {
		return err
	}
	if f.dryRun {
		info, err := store.Info(id)
		if err != nil {
			return err
		}
		plan, err := f.plan(ctx, info.Path, session.BlobsOf(info.Path))
		if err != nil {
			return err
		}
		return f.tell(&rewound{Session: id, Plan: plan, title: info.Title}, cmp.Or(info.Cwd, workDir()))
	}
	return f.apply(ctx, store, id)
}

// apply does the rewind, after what an earlier process left undone.
func (f *rewindFlags) apply(ctx context.Context, store *session.Store, id string) (err error) {
	s, err := store.Resume(ctx, id, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	cwd := s.Restored().Cwd
	left, err := checkpoint.New(cwd, s, nil).Recover(ctx)
	if err != nil {
		return err
	}
	for _, path := range left.Left {
		fmt.Fprintf(f.Err, "An earlier rewind was interrupted. %s has changed since, so it stays as it is.\n", path)
	}
	plan, err := f.plan(ctx, s.Path(), s.Blobs())
	if err != nil {
		return err
	}
	r, shownFrom := &rewound{Session: id, Plan: plan, title: s.Restored().Title}, cmp.Or(cwd, workDir())
	if len(plan.Steps) > 0 && !f.yes && !f.json {
		f.span(r)
		f.list(f.Out, plan, shownFrom)
		if err := f.confirm(ctx, plan); err != nil {
			return err
		}
	}
	if len(plan.Steps) == 0 {
		return f.tell(r, shownFrom)
	}
	undo, err := plan.Apply(ctx, s, &checkpoint.ApplyOptions{Force: f.force})
	var conflict *checkpoint.ConflictError
	if errors.As(err, &conflict) && !f.json {
		f.list(f.Err, plan, shownFrom)
		were, changes := "was", "that change"
		if len(conflict.Paths) > 1 {
			were, changes = "were", "those changes"
		}
		return fmt.Errorf("could not rewind: %s %s changed since, outside this session. Use --force to discard %s", plural.Of(len(conflict.Paths), "file"), were, changes)
	}
	if err != nil {
		return err
	}
	if err := harness.NoteRewind(ctx, s, plan, cwd); err != nil {
		fmt.Fprintf(f.Err, "Could not tell the model which files were restored: %v\n", err)
	}
	r.Done, r.Undo = true, undo
	return f.tell(r, shownFrom)
}

// workDir is the folder that paths are shown from if the session has none, as that of a
// preview; "" if it is not known.
func workDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// confirm asks the user. No answer is no.
func (f *rewindFlags) confirm(ctx context.Context, p *checkpoint.Plan) error {
	in, ok := f.In.(*os.File)
	if !ok || !isTerminal(in) {
		return usageError{errors.New("could not rewind: there is no terminal to ask you. Check with --dry-run, then use --yes")}
	}
	question := fmt.Sprintf("Change %s, +%d −%d?", plural.Of(len(p.Steps), "file"), p.Insertions, p.Deletions)
	if yes, err := f.agrees(ctx, question, "Nothing was done."); err != nil || yes {
		return err
	}
	return errors.New("nothing was done")
}

func (f *rewindFlags) plan(ctx context.Context, path string, blobs blob.Store) (*checkpoint.Plan, error) {
	to, err := wholeID(ctx, path, f.to)
	if err != nil {
		return nil, fmt.Errorf("could not rewind: %w", err)
	}
	plan, err := checkpoint.NewPlan(ctx, path, to, blobs)
	switch {
	case errors.Is(err, checkpoint.ErrNoTarget) && to == "":
		return nil, usageError{errors.New("could not rewind: the session has no messages and has changed no files")}
	case errors.Is(err, checkpoint.ErrNoTarget):
		return nil, usageError{fmt.Errorf("could not rewind: there is no message, call or rewind %q in the session. Run 'haft sessions show' for its messages", to)}
	}
	return plan, err
}

// wholeID completes the beginning of an id. What begins no id stays as it is.
func wholeID(ctx context.Context, path, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	var found []string // in the order of the journal
	said := map[string]string{}
	for e, err := range session.Entries(ctx, path) {
		if err != nil {
			return "", err
		}
		for _, of := range idsOf(&e) {
			if of == id {
				return id, nil
			}
			if _, known := said[of]; !known && strings.HasPrefix(of, id) {
				found = append(found, of)
				said[of] = ""
				if e.Message != nil {
					said[of] = "  " + inOneLine(contentText(e.Message.Content), 60)
				}
			}
		}
	}
	if len(found) < 2 {
		return cmp.Or(strings.Join(found, ""), id), nil
	}
	var b strings.Builder
	for _, of := range found[:min(len(found), mostCandidates)] {
		b.WriteString("\n  " + of + said[of])
	}
	if more := len(found) - mostCandidates; more > 0 {
		fmt.Fprintf(&b, "\n  … and %d more", more)
	}
	return "", usageError{fmt.Errorf("%q is the beginning of %d ids. Give more of the one that you mean:%s", id, len(found), b.String())}
}

// mostCandidates is how many ids are listed for a beginning that several have.
const mostCandidates = 10

// idsOf are what an entry can be named by.
func idsOf(e *session.Entry) []string {
	switch {
	case e.Call != nil:
		return []string{e.Call.ID, e.Call.UseID}
	case e.Checkpoint != nil:
		return []string{e.Checkpoint.CallID}
	case e.Message != nil && !e.Message.Synthetic:
		return []string{e.UUID}
	}
	return nil
}

func (f *rewindFlags) tell(r *rewound, cwd string) error {
	if f.json {
		return writeJSON(f.Out, r)
	}
	if !r.Done || f.yes { // otherwise it was shown before
		f.span(r)
		f.list(f.Out, r.Plan, cwd)
	}
	did := "would change"
	if r.Done {
		did = "changed"
	}
	if len(r.Steps) == 0 {
		fmt.Fprintln(f.Out, "There is nothing to rewind: every file is as it was then.")
	} else {
		fmt.Fprintf(f.Out, "%s %s, +%d −%d.\n", plural.Of(len(r.Steps), "file"), did, r.Insertions, r.Deletions)
	}
	if r.Undo != "" {
		fmt.Fprintf(f.Out, "To undo: haft rewind %s --to %s\n", r.Session, r.Undo)
	}
	if r.Uncovered != "" {
		fmt.Fprintf(f.Err, "Not everything can be restored: %s.\n", inOneLine(r.Uncovered, 200))
	}
	return nil
}

// span writes what the rewind goes back over. A preview is a session without messages, whose
// title is its command.
func (f *rewindFlags) span(r *rewound) {
	p, name, since := r.Plan, r.Plan.Target, ""
	if strings.HasPrefix(name, "preview-") {
		name = cmp.Or(r.title, name)
	}
	if p.Span.Prompts+p.Span.Calls > 0 {
		since = fmt.Sprintf("; %s and %s since", plural.Of(p.Span.Prompts, "prompt"), plural.Of(p.Span.Calls, "call"))
	}
	fmt.Fprintf(f.Out, "Rewinding to just before: %s (%s%s)\n", inOneLine(cmp.Or(p.Span.Text, name), 100), p.Span.Time.Local().Format("2006-01-02 15:04:05"), since)
}

// list writes a line for each file.
func (f *rewindFlags) list(w io.Writer, p *checkpoint.Plan, cwd string) {
	for _, s := range p.Steps {
		path := s.Path
		if rel, err := filepath.Rel(cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
			path = rel
		}
		note := ""
		if s.Foreign {
			note = "  (changed since, outside this session)"
		}
		fmt.Fprintf(w, "%-8s %s  +%d −%d%s\n", s.Action(), inOneLine(path, 200), s.Insertions, s.Deletions, note)
	}
}
