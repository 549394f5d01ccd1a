package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/world/search"
	"github.com/haftdev/haft/internal/world/workspace"
	"github.com/haftdev/haft/session"
)

type sessionsFork struct {
	Streams
	json bool
	at   string
}

func newSessionsFork(s Streams) *cobra.Command {
	f := &sessionsFork{Streams: s}
	c := &cobra.Command{
		Use:     "fork [SESSION]",
		Short:   message("Copy a conversation into a new session and print its id"),
		Example: "  haft -p \"try another way\" --resume $(haft sessions fork 3f9a)",
		Args:    atMost(1),
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().StringVar(&f.at, "at", "", "id, or the beginning of the id, of the last message to copy (see 'haft sessions show')")
	return c
}

func (f *sessionsFork) run(ctx context.Context, args []string) error {
	store := session.Open("")
	id, err := chosen(store, args)
	if err != nil {
		return err
	}
	info, err := store.Info(id)
	if err != nil {
		return err
	}
	at, err := wholeID(ctx, info.Path, f.at)
	if err != nil {
		return fmt.Errorf("could not fork: %w", err)
	}
	fork, err := store.Fork(ctx, id, at)
	if errors.Is(err, session.ErrNoMessage) {
		return usageError{fmt.Errorf("could not fork: there is no message %q in the session. Run 'haft sessions show' for its messages", f.at)}
	}
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, map[string]string{"id": fork, "forkedFrom": id})
	}
	_, err = fmt.Fprintln(f.Out, fork)
	return err
}

type sessionsPrune struct {
	Streams
	json, dryRun bool
	older        string
}

func newSessionsPrune(s Streams) *cobra.Command {
	f := &sessionsPrune{Streams: s}
	c := &cobra.Command{
		Use:   "prune [SESSION…]",
		Short: message("Delete sessions, and stored contents that no session needs"),
		Long: `Delete the sessions that you name, or those that have not been used for a given time,
and stored contents that no session needs any more. Nothing else ever deletes a
session. With --dry-run it only shows what it would delete and free.`,
		Example: "  haft sessions prune --older-than 90d --dry-run\n  haft sessions prune 3f9a1c",
		RunE:    func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "only show what would be deleted")
	c.Flags().StringVar(&f.older, "older-than", "", "delete sessions that have not been written to for this long, such as 90d or 12h")
	return c
}

func (f *sessionsPrune) run(ctx context.Context, ids []string) error {
	older, err := age(f.older)
	if err != nil {
		return usageError{err}
	}
	indexes, err := pruneIndexes(f.dryRun)
	if err != nil {
		return err
	}
	p, err := session.Open("").Prune(ctx, &session.PruneOptions{IDs: ids, Older: older, State: workspace.StateDir(), DryRun: f.dryRun})
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, struct {
			*session.Pruned
			SearchIndexes prunedIndexes `json:"searchIndexes"`
		}{p, indexes})
	}
	verb := "Deleted"
	if f.dryRun {
		verb = "Would delete"
	}
	for _, i := range p.Sessions {
		fmt.Fprintf(f.Out, "%s %s  %s\n", verb, i.ID, inOneLine(i.Prompt, 60))
	}
	fmt.Fprintf(f.Out, "%s %s and %s, %s in all.\n", verb, plural.Of(len(p.Sessions), "session"), plural.Of(p.Blobs, "stored file"), bytesText(p.Bytes))
	fmt.Fprintf(f.Out, "%s %s of folders that no longer exist (%s). Kept: %s (%s) in %s.\n",
		verb, plural.Of(indexes.Deleted, "search index"), bytesText(indexes.Bytes), plural.Of(indexes.Kept, "search index"), bytesText(indexes.KeptBytes), project.SearchIndexes())
	for _, dir := range p.Skipped {
		fmt.Fprintf(f.Err, "Kept the stored contents in %s: a session there is in use.\n", dir)
	}
	return nil
}

// prunedIndexes is what became of the search indexes.
type prunedIndexes struct {
	Deleted   int   `json:"deleted"`
	Bytes     int64 `json:"bytes"`
	Kept      int   `json:"kept"`
	KeptBytes int64 `json:"keptBytes"`
}

// pruneIndexes deletes the search indexes of folders that no longer exist.
func pruneIndexes(dryRun bool) (p prunedIndexes, err error) {
	saved, err := search.SavedIndexes(project.SearchIndexes())
	if err != nil {
		return p, fmt.Errorf("could not list the search indexes: %w", err)
	}
	for _, s := range saved {
		if _, err := os.Stat(s.Root); s.Root != "" && !errors.Is(err, fs.ErrNotExist) {
			p.Kept, p.KeptBytes = p.Kept+1, p.KeptBytes+s.Bytes
			continue
		}
		if !dryRun {
			if err := os.Remove(s.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return p, fmt.Errorf("could not delete a search index: %w", err)
			}
		}
		p.Deleted, p.Bytes = p.Deleted+1, p.Bytes+s.Bytes
	}
	return p, nil
}

// age reads a duration that may be in days.
func age(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err == nil && n > 0 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("--older-than: %q is not a duration such as 90d or 12h", s)
	}
	return d, nil
}
