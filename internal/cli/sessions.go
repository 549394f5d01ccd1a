package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/haftdev/haft/internal/front/page"
	"github.com/haftdev/haft/internal/front/timeline"
	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/redact"
	"github.com/haftdev/haft/internal/text/shorten"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/session"
	"github.com/haftdev/haft/tool"
	"github.com/spf13/cobra"
)

// atMost allows up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return usageError{fmt.Errorf("wrong number of arguments (got %d, want at most %d). Usage: %s", len(args), n, c.UseLine())}
	}
}

// chosen returns the session that the arguments name, or the latest one here.
func chosen(store *session.Store, args []string) (string, error) {
	if len(args) > 0 {
		info, err := store.Info(args[0])
		if errors.Is(err, session.ErrNotFound) {
			err = usageError{fmt.Errorf("there is no session %q. Run 'haft sessions list --all' for the list", args[0])}
		}
		return info.ID, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	id, err := store.Latest(dir)
	if errors.Is(err, session.ErrNotFound) {
		err = usageError{fmt.Errorf("there is no session in %s. Run 'haft sessions list --all' and choose one", dir)}
	}
	return id, err
}

type sessionsList struct {
	Streams
	json, all bool
	limit     int
}

func newSessionsList(s Streams) *cobra.Command {
	f := &sessionsList{Streams: s}
	c := &cobra.Command{
		Use:   "list",
		Short: message("List the sessions of this folder, or of all folders"),
		Args:  exactly(0),
		RunE:  func(*cobra.Command, []string) error { return f.run() },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().BoolVar(&f.all, "all", false, "list the sessions of all folders")
	c.Flags().IntVar(&f.limit, "limit", 0, "maximum number to list; 0 means all")
	return c
}

func (f *sessionsList) run() error {
	o := session.ListOptions{Limit: f.limit}
	if !f.all {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		o.Cwd = dir
	}
	list, err := session.Open("").List(&o)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, append([]session.Info{}, list...))
	}
	if len(list) == 0 {
		text := "There are no sessions in this folder. 'haft sessions list --all' lists those of all folders."
		if f.all {
			text = "There are no sessions."
		}
		fmt.Fprintln(f.Err, text)
		return nil
	}
	w := tabwriter.NewWriter(f.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tUPDATED\tSIZE\tFOLDER\tTITLE")
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.ID, i.Modified.Local().Format("2006-01-02 15:04"), bytesText(i.Size), inOneLine(cmp.Or(i.Cwd, o.Cwd), 60), inOneLine(cmp.Or(i.Title, i.Prompt), 60))
	}
	return w.Flush()
}

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
}

// oneLine shortens a text from a journal, and removes what a terminal would interpret.
func inOneLine(s string, n int) string {
	return shorten.To(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s), n)
}

type sessionsShow struct {
	Streams
	json, timeline bool
}

func newSessionsShow(s Streams) *cobra.Command {
	f := &sessionsShow{Streams: s}
	c := &cobra.Command{
		Use:   "show [SESSION]",
		Short: message("Show a session's messages and calls, with the ids that rewind and fork accept"),
		Args:  atMost(1),
		RunE:  func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "write JSON")
	c.Flags().BoolVar(&f.timeline, "timeline", false, "show when each call waited, was asked about, and ran")
	return c
}

// shown is a message as a program reads it.
type shown struct {
	UUID string     `json:"uuid"`
	Time time.Time  `json:"time,omitzero"`
	Role model.Role `json:"role"`
	Text string     `json:"text"`
	Left bool       `json:"left,omitempty"` // the conversation went back to before it
}

func (f *sessionsShow) run(ctx context.Context, args []string) error {
	store := session.Open("")
	id, err := chosen(store, args)
	if err != nil {
		return err
	}
	info, err := store.Info(id)
	if err != nil {
		return err
	}
	if f.timeline {
		return f.showTimeline(ctx, info)
	}
	left, err := session.Left(ctx, info.Path)
	if err != nil {
		return err
	}
	said := []shown{}
	for e, err := range session.Entries(ctx, info.Path) {
		if err != nil {
			return err
		}
		if e.Message != nil && !e.Message.Synthetic {
			if text := contentText(e.Message.Content); text != "" {
				said = append(said, shown{e.UUID, e.Time, e.Message.Role, text, left[e.UUID]})
			}
		}
	}
	if f.json {
		return writeJSON(f.Out, struct {
			session.Info
			Messages []shown `json:"messages"`
		}{info, said})
	}
	fmt.Fprintf(f.Out, "%s\n%s\n%s\n\n", info.ID, inOneLine(info.Cwd, 200), info.Path)
	for _, m := range said {
		mark := ""
		if m.Left {
			mark = "(abandoned) "
		}
		fmt.Fprintf(f.Out, "%s  %-9s  %s%s\n", m.UUID, m.Role, mark, inOneLine(m.Text, 100))
	}
	return nil
}

// showTimeline draws when the calls of a session waited, were asked about and ran.
func (f *sessionsShow) showTimeline(ctx context.Context, info session.Info) error {
	v, err := timeline.Load(ctx, info.Path)
	if err != nil {
		return err
	}
	if f.json {
		return writeJSON(f.Out, struct {
			ID  string `json:"id"`
			Cwd string `json:"cwd"`
			timeline.Summary
			TurnList []timeline.Turn  `json:"turn_list"`
			ItemList []*timeline.Item `json:"item_list"`
		}{info.ID, info.Cwd, v.Summary(), append([]timeline.Turn{}, v.Turns()...), append([]*timeline.Item{}, v.Items(0, math.MaxInt)...)})
	}
	s := v.Summary()
	fmt.Fprintf(f.Out, "%s  %s\n%s\n", info.ID, inOneLine(cmp.Or(s.Title, info.Title, info.Prompt), 80), inOneLine(info.Cwd, 200))
	fmt.Fprintf(f.Out, "%s · %s · %s · %s\n", inOneLine(cmp.Or(s.Model, "no model"), 60), plural.Of(s.Turns, "turn"), plural.Of(s.Calls, "call"), costText(s.Cost, s.Unpriced))
	fmt.Fprintf(f.Out, "%s waiting  %s asked  %s running  %s failed\n", glyphs.waiting, glyphs.asked, glyphs.running, glyphs.failed)
	items := v.Items(0, math.MaxInt)
	for n, t := range v.Turns() {
		end := len(items)
		if n+1 < len(v.Turns()) {
			end = v.Turns()[n+1].Item
		}
		drawTurn(f.Out, t, items[t.Item:end])
	}
	return nil
}

// glyphs are what a bar is made of.
var glyphs = struct{ waiting, asked, running, failed string }{"░", "?", "█", "▒"}

const barWidth = 40

// drawTurn writes a turn and its calls, each with a bar on the turn's time axis.
func drawTurn(w io.Writer, t timeline.Turn, items []*timeline.Item) {
	left := ""
	if t.Left {
		left = "  (the conversation went back to before this turn)"
	}
	fmt.Fprintf(w, "\n%s  turn %d  %s  %s%s\n", clock(t.Start), t.Index+1, took(t.Start, t.End), plural.Of(t.Calls, "call"), left)
	for n, i := range items {
		if i.Left && !t.Left && (n == 0 || !items[n-1].Left) {
			fmt.Fprintf(w, "%s  (the conversation went back to here)\n", strings.Repeat(" ", 8))
		}
		who := ""
		if i.Lane != "" {
			who = "[" + inOneLine(i.Lane, 12) + "] "
		}
		if i.Kind == timeline.Note {
			continue
		}
		if i.Kind != timeline.CallItem {
			fmt.Fprintf(w, "%s  %-10s  %s%s\n", clock(i.At), i.Kind, who, inOneLine(visible.Text(i.Text), 90))
			continue
		}
		c := i.Call
		fmt.Fprintf(w, "%s  %-10s  %s %7s  %s%s %s\n", clock(i.At), c.State, bar(t, i), took(cmp.Or(c.Started, i.At), cmp.Or(c.Ended, t.End)), who, inOneLine(c.Tool, 30), inOneLine(visible.Text(i.Text), 60))
		if why := verdictText(c); why != "" {
			fmt.Fprintf(w, "%s  %-10s  %s\n", strings.Repeat(" ", 8), "", inOneLine(visible.Text(why), 110))
		}
	}
}

// verdictText says who decided about a call, if that is worth a line.
func verdictText(c *timeline.Call) string {
	switch {
	case c.State == timeline.Asked:
		return "waiting for an answer: " + c.Reason
	case c.By != "":
		return fmt.Sprintf("%s by %s after %s", c.Verdict, c.By, took(c.Asked, c.Answered))
	case c.State == timeline.Denied:
		return "denied: " + c.Reason
	}
	return ""
}

// bar is the life of a call on the axis of its turn.
func bar(t timeline.Turn, i *timeline.Item) string {
	c := i.Call
	span := max(int64(t.End-t.Start), 1)
	column := func(at timeline.Time) int { return int(int64(at-t.Start) * barWidth / span) }
	end := cmp.Or(c.Ended, t.End)
	var b strings.Builder
	for n := range barWidth {
		at := func(from, to timeline.Time) bool {
			return from > 0 && n >= column(from) && (n < column(to) || n == min(column(from), barWidth-1))
		}
		switch {
		case c.Started > 0 && at(c.Started, end):
			if c.State == timeline.Failed {
				b.WriteString(glyphs.failed)
			} else {
				b.WriteString(glyphs.running)
			}
		case at(c.Asked, cmp.Or(c.Answered, end)):
			b.WriteString(glyphs.asked)
		case at(i.At, cmp.Or(c.Started, end)):
			b.WriteString(glyphs.waiting)
		default:
			b.WriteString(" ")
		}
	}
	return b.String()
}

func clock(t timeline.Time) string {
	if t == 0 {
		return "--:--:--"
	}
	return time.UnixMilli(int64(t)).Format("15:04:05")
}

// took is the time between two moments, for people.
func took(from, to timeline.Time) string {
	if from == 0 || to < from {
		return "-"
	}
	d := time.Duration(to-from) * time.Millisecond
	switch {
	case d < time.Second:
		return d.String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func costText(usd float64, unpriced bool) string {
	switch {
	case unpriced && usd == 0:
		return "cost not known"
	case unpriced:
		return fmt.Sprintf("at least $%.4f", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

// contentText summarises a message in one line, without what haft added to it.
func contentText(blocks []model.Block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case model.ToolUse:
			parts = append(parts, fmt.Sprintf("%s %s", b.Name, b.Input))
		case model.ToolResult:
			parts = append(parts, "→ "+tool.JoinText(b.Content))
		case model.Text:
			if !session.Injected(b) {
				parts = append(parts, b.Text)
			}
		default:
			parts = append(parts, "["+string(b.Type)+"]")
		}
	}
	return strings.Join(parts, " ")
}

type sessionsExport struct {
	Streams
	format, output string
	secrets        bool
}

func newSessionsExport(s Streams) *cobra.Command {
	f := &sessionsExport{Streams: s}
	c := &cobra.Command{
		Use:   "export [SESSION]",
		Short: message("Export a session as Markdown, JSON lines or an HTML page with its timeline"),
		Long: `Export a session as Markdown, JSON lines or an HTML page with its timeline.

Anything that looks like a secret (keys, tokens, passwords) and the secrets in your environment
are replaced by ***. Review the file anyway before you share it.`,
		Example: `  haft sessions export 3f9a -o talk.md
  haft sessions export 3f9a --html -o session.html`,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args) },
	}
	c.Flags().StringVar(&f.format, "format", string(session.Markdown), "markdown, html or jsonl")
	c.Flags().BoolVar(&f.secrets, "with-secrets", false, "do not replace what looks like a secret")
	c.Flags().Bool("json", false, "the same as --format=jsonl")
	c.Flags().Bool("html", false, "the same as --format=html: one file with the conversation and the timeline, for a browser")
	c.Flags().StringVarP(&f.output, "output", "o", "", "new file to write to; defaults to standard output")
	c.PreRun = func(c *cobra.Command, _ []string) {
		if json, _ := c.Flags().GetBool("json"); json {
			f.format = string(session.JSONL)
		}
		if html, _ := c.Flags().GetBool("html"); html {
			f.format = string(session.HTML)
		}
	}
	c.MarkFlagsMutuallyExclusive("json", "html")
	return c
}

func (f *sessionsExport) run(ctx context.Context, args []string) (err error) {
	format := session.Format(f.format)
	if format != session.Markdown && format != session.JSONL && format != session.HTML {
		return usageError{fmt.Errorf("unknown format %q: use %s, %s or %s", f.format, session.Markdown, session.HTML, session.JSONL)}
	}
	store := session.Open("")
	id, err := chosen(store, args)
	if err != nil {
		return err
	}
	var out io.Writer = f.Out
	if isTerminal(f.Out) {
		out = harmlessWriter{f.Out}
	}
	if f.output != "" {
		file, err := os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return usageError{fmt.Errorf("could not export the session: %s already exists. Choose another name, or delete it first", f.output)}
		}
		if err != nil {
			return fmt.Errorf("could not export the session: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	if format == session.HTML {
		return exportPage(ctx, store, id, out, f.hide())
	}
	if f.secrets {
		return store.Export(ctx, id, out, format)
	}
	return exportRedacted(ctx, store, id, out, format)
}

// hide takes secrets out of JSON, unless they are to be kept.
func (f *sessionsExport) hide() func([]byte) []byte {
	if f.secrets {
		return func(raw []byte) []byte { return raw }
	}
	return redact.New(redact.Environ(os.Environ())).JSON
}

// exportRedacted writes a session without what looks like a secret. All of it is read
// first, because some secrets have several lines.
func exportRedacted(ctx context.Context, store *session.Store, id string, out io.Writer, format session.Format) error {
	var text bytes.Buffer
	if err := store.Export(ctx, id, &text, format); err != nil {
		return err
	}
	r := redact.New(redact.Environ(os.Environ()))
	if format == session.Markdown {
		_, err := io.WriteString(out, r.Text(text.String()))
		return err
	}
	for line := range bytes.Lines(text.Bytes()) {
		if _, err := out.Write(r.JSON(line)); err != nil {
			return err
		}
	}
	return nil
}

// exportHidden is exportPage for the page of a server.
func exportHidden(ctx context.Context, id string, out io.Writer) error {
	return exportPage(ctx, session.Open(""), id, out, redact.New(redact.Environ(os.Environ())).JSON)
}

// exportPage writes a session as one file for a browser.
func exportPage(ctx context.Context, store *session.Store, id string, out io.Writer, hide func([]byte) []byte) error {
	info, err := store.Info(id)
	if err != nil {
		return err
	}
	return page.ExportOf(ctx, out, &info, hide)
}
