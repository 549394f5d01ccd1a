package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/output"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

func newToolsCall(f *toolsFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "call NAME JSON|-",
		Short: "Run a tool; progress goes to standard error, the result to standard output",
		Long: `Run a tool through the pipeline that a model's call takes. The input is one JSON
object, or - to read it from standard input. Progress and remarks go to standard
error, the result to standard output.

Exit codes: 0 the call succeeded, 1 it ran and failed, 2 there is no such tool or
the input is wrong, 3 it was denied, 130 it was cancelled.`,
		Example: `  haft tools call Sleep '{"duration_ms": 1500}'
  echo '{"query": "select:Sleep"}' | haft tools call ToolSearch - --json`,
		Args: exactly(2),
		RunE: func(c *cobra.Command, args []string) error { return f.call(c.Context(), args[0], args[1]) },
	}
}

func (f *toolsFlags) call(ctx context.Context, name, input string) error {
	raw := []byte(input)
	if input == "-" {
		var err error
		if raw, err = readAll(ctx, f.In); err != nil {
			return fmt.Errorf("read the input from standard input: %w", err)
		}
	}
	feed := sched.NewFeed()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		f.showProgress(feed)
	}()
	s := sched.New(&sched.Options{Judge: sched.JudgeFunc(typedByThePerson), Feeds: []*sched.Feed{feed}, Output: resultStore()})
	host := f.host()
	defer host.Close()
	// Without the background flag: a command must not outlive this process.
	set := f.setOn(host, nil)
	out := s.Call(ctx, set.Reveal(set.Session().Tools...), "cli", name, raw)
	feed.Close()
	<-shown
	if err := f.show(out); err != nil {
		return err
	}
	if out.Status == sched.Succeeded {
		return nil
	}
	return outcomeError{out.Status}
}

// readAll reads to the end, unless ctx ends first: the read itself cannot be
// interrupted, but nobody needs to wait for it.
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

// typedByThePerson is the verdict on a call that somebody wrote out at a shell:
// writing it was the approval. What the tool itself refuses stays refused.
func typedByThePerson(context.Context, tool.Case) tool.Verdict {
	return tool.Verdict{Behavior: tool.Allow, Reason: "the call was typed by the person at the command line"}
}

// host runs shell commands, and keeps long outputs where resultStore keeps long
// results.
func (f *toolsFlags) host() *shellrun.Host {
	opts := &shellrun.Options{Reexec: f.reexec}
	if cache, err := os.UserCacheDir(); err == nil {
		opts.Spool = &shellrun.SpoolOptions{Dir: filepath.Join(cache, "haft", "shell")}
	}
	return shellrun.NewHost(opts)
}

// resultStore keeps long results where the person can find them afterwards.
func resultStore() *output.Store {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	run := fmt.Sprintf("%s-%d", time.Now().Format("20060102-150405"), os.Getpid())
	return output.NewStore(filepath.Join(cache, "haft", "results", run))
}

func (f *toolsFlags) showProgress(feed *sched.Feed) {
	for e := range feed.Events(context.Background()) {
		if e.Progress != nil {
			fmt.Fprintln(f.Err, progressLine(e.Progress))
		}
	}
}

// progressLine is progress for people, in one line.
func progressLine(p tool.Progress) string {
	switch p := p.(type) {
	case tool.TextProgress:
		return p.Text
	case tool.BashProgress:
		last := strings.TrimRight(p.Output, "\n")
		last = last[strings.LastIndexByte(last, '\n')+1:]
		return fmt.Sprintf("%s, %d lines, %d bytes: %s", p.Elapsed.Round(time.Second), p.Lines, p.Bytes, last)
	}
	b, err := json.Marshal(p)
	if err != nil {
		return p.ProgressType()
	}
	return p.ProgressType() + " " + string(b)
}

// callInfo is an outcome as programs read it.
type callInfo struct {
	Tool       string          `json:"tool"`
	Status     string          `json:"status"`
	IsError    bool            `json:"is_error"`
	Content    []tool.Block    `json:"content"`
	Output     any             `json:"output,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Repairs    []string        `json:"repairs,omitempty"`
	Verdict    string          `json:"verdict,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Kept       *output.Kept    `json:"kept,omitempty"`
	DurationMS int64           `json:"duration_ms"`
}

func (f *toolsFlags) show(out *sched.Outcome) error {
	if f.json {
		i := callInfo{
			Tool: out.Tool, Status: out.Status.String(), IsError: out.IsError(), Content: out.Result.Content, Output: out.Result.Output,
			Repairs: repairTexts(out.Repairs), Kept: out.Kept, DurationMS: out.Ended.Sub(out.Started).Milliseconds(), Reason: out.Verdict.Reason,
		}
		if out.Verdict.Behavior != tool.NoView {
			i.Verdict = out.Verdict.Behavior.String()
		}
		if json.Valid(out.Input) {
			i.Input = out.Input
		}
		return writeJSON(f.Out, i)
	}
	for _, r := range repairTexts(out.Repairs) {
		fmt.Fprintf(f.Err, "input repaired: %s\n", r)
	}
	for _, n := range out.Notes {
		fmt.Fprintln(f.Err, n)
	}
	if out.Fatal != nil {
		fmt.Fprintln(f.Err, out.Fatal)
	}
	for _, b := range out.Result.Content {
		if _, err := io.WriteString(f.Out, blockText(b)); err != nil {
			return err
		}
	}
	return nil
}

func repairTexts(repairs []schema.Repair) []string {
	var texts []string
	for _, r := range repairs {
		texts = append(texts, r.String())
	}
	return texts
}

// plain takes out the tags that tell a model where an error comes from.
var plain = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")

// blockText is a block as a terminal can show it.
func blockText(b tool.Block) string {
	switch b.Type {
	case tool.TextBlock:
		return strings.TrimSuffix(plain.Replace(b.Text), "\n") + "\n"
	case tool.ReferenceBlock:
		return ""
	}
	return fmt.Sprintf("[%s, %s, %d bytes; use --json to get it]\n", b.Type, b.MediaType, len(b.Data))
}
