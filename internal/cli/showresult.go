package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/plural"
	"github.com/haftdev/haft/internal/visible"
	"github.com/haftdev/haft/output"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/tool/schema"
)

// progressLine is progress for people, in one line.
func progressLine(p tool.Progress) string {
	switch p := p.(type) {
	case tool.TextProgress:
		return p.Text
	case tool.BashProgress:
		last := strings.TrimRight(p.Output, "\n")
		last = last[strings.LastIndexByte(last, '\n')+1:]
		return fmt.Sprintf("%s, %s, %s: %s", p.Elapsed.Round(time.Second), plural.Of(p.Lines, "line"), plural.Of(p.Bytes, "byte"), last)
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
	Code       int             `json:"code,omitempty"` // of the tool's own check; its meanings belong to the tool
	Content    []tool.Block    `json:"content"`
	Messages   []string        `json:"messages,omitempty"`
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
			UseID: out.UseID, Tool: out.Tool, Status: out.Status.String(), IsError: out.IsError(), Code: out.Code, Content: out.Result.Content, Output: out.Result.Output,
			Repairs: repairTexts(out.Repairs), Kept: out.Kept, DurationMS: out.Ended.Sub(out.Started).Milliseconds(), Reason: out.Verdict.Reason,
		}
		if out.Verdict.Behavior != tool.NoView {
			i.Verdict = out.Verdict.Behavior.String()
		}
		for _, m := range out.Result.Messages {
			i.Messages = append(i.Messages, tool.JoinText(m.Content))
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
	for _, b := range shownBlocks(out.Result) {
		text := blockText(b)
		if isTerminal(f.Out) {
			text = visible.Text(text)
		}
		if _, err := io.WriteString(f.Out, text); err != nil {
			return err
		}
	}
	return nil
}

// shownBlocks are the blocks of the result and of what joins the conversation after it.
func shownBlocks(r tool.Result) []tool.Block {
	blocks := slices.Clone(r.Content)
	for _, m := range r.Messages {
		blocks = append(blocks, m.Content...)
	}
	return blocks
}

// isTerminal reports whether a user sees what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// A harmlessWriter writes to a terminal what another program wrote.
type harmlessWriter struct{ io.Writer }

func (w harmlessWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func repairTexts(repairs []schema.Repair) []string {
	var texts []string
	for _, r := range repairs {
		texts = append(texts, r.String())
	}
	return texts
}

// untagged removes the tags that tell a model where an error comes from.
var untagged = strings.NewReplacer("<tool_use_error>", "", "</tool_use_error>", "")

// blockText is a block as a terminal can show it.
func blockText(b tool.Block) string {
	switch b.Type {
	case tool.TextBlock:
		return strings.TrimSuffix(untagged.Replace(b.Text), "\n") + "\n"
	case tool.ReferenceBlock:
		return ""
	}
	return fmt.Sprintf("[%s, %s, %d bytes; use --json to get it]\n", b.Type, b.MediaType, len(b.Data))
}
