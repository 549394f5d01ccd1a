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
	"github.com/haftdev/haft/permission"
	"github.com/haftdev/haft/permission/audit"
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
	opts, err := f.pipeline(feed)
	if err != nil {
		return err
	}
	host := f.host()
	defer host.Close()
	// Without the background flag: a command must not outlive this process.
	set := f.setOn(host, nil)
	useID := fmt.Sprintf("cli-%d-%d", time.Now().UnixMilli(), os.Getpid())
	out := sched.New(opts).Call(ctx, set.Reveal(set.Session().Tools...), useID, name, raw)
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

// pipeline is that of a session of this folder, with the person at the shell to
// ask: what the rules deny stays denied, and what they would ask was answered by
// typing the call.
func (f *toolsFlags) pipeline(feed *sched.Feed) (*sched.Options, error) {
	p, err := openProject()
	if err != nil {
		return nil, err
	}
	opts, err := p.options()
	if err != nil {
		return nil, err
	}
	log, err := p.auditLog()
	if err != nil {
		return nil, err
	}
	return &sched.Options{
		Judge:    permission.NewEngine(opts),
		Askers:   []sched.Asker{sched.AskerFunc(typedByThePerson)},
		Recorder: verdictRecorder{log, string(opts.Mode)},
		Feeds:    []*sched.Feed{feed},
		Output:   resultStore(),
	}, nil
}

func typedByThePerson(context.Context, tool.Case, tool.Verdict) (tool.Verdict, error) {
	return tool.Verdict{Behavior: tool.Allow, Reason: "the call was typed by the person at the command line"}, nil
}

// A verdictRecorder writes every verdict into the audit log.
type verdictRecorder struct {
	log  *audit.Log
	mode string
}

// Record writes verdicts down; the other steps belong to a session's journal.
func (r verdictRecorder) Record(_ context.Context, rec sched.Record) error {
	if rec.Step != sched.Judged {
		return nil
	}
	v := rec.Verdict
	return r.log.Append(audit.Entry{
		Time: time.Now().UTC(), UseID: rec.Call.UseID, Agent: rec.Call.Agent, Tool: rec.Call.Tool, Input: rec.Call.Input,
		Mode: r.mode, Behavior: v.Behavior.String(), Reason: v.Reason, Rule: v.Rule, Origin: v.Origin,
	})
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
	UseID      string          `json:"tool_use_id"`
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
			UseID: out.UseID, Tool: out.Tool, Status: out.Status.String(), IsError: out.IsError(), Content: out.Result.Content, Output: out.Result.Output,
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
