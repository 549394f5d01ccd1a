package tui

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/tool"
)

// ended tells that something in the background is over.
func (a *app) ended(t agent.Task) *note {
	took := ""
	if !t.Ended.IsZero() && t.Ended.After(t.Started) {
		took = " " + a.t("after %s", seconds(t.Ended.Sub(t.Started)))
	}
	n := &note{text: "○ " + a.t("%s: %s%s, in the background", taskName(t), answers.State(a.lang, string(t.Status)), took), quiet: true}
	if t.Status == "failed" {
		n.style = failure
	}
	return n
}

// taskName is what a person calls something in the background.
func taskName(t agent.Task) string {
	if t.Type == "local_agent" && t.AgentType != "" {
		return t.AgentType + ", " + t.Description
	}
	if t.Description == "" {
		return t.ID
	}
	return strings.TrimRight(t.Description, "; &\n") // a command's own end
}

// background moves the commands and agents that the turn waits for to the background,
// which the model is told, or lists what runs there.
func (a *app) background() {
	if a.talk == nil || a.working == nil || !a.talk.Turns.Background("") {
		a.listTasks()
		return
	}
	a.hint = a.t("moved to the background; ctrl+b lists it")
}

// listTasks shows what runs in the background.
func (a *app) listTasks() {
	var items []pick
	tasks := maps.Clone(a.tasks) // one may end while the list is there
	for _, t := range tasks {
		items = append(items, pick{value: t.ID, text: taskName(t), detail: a.taskDetail(t)})
	}
	if len(items) == 0 {
		a.hint = a.t("nothing is running in the background")
		return
	}
	slices.SortFunc(items, func(x, y pick) int { return tasks[x.value].Started.Compare(tasks[y.value].Started) })
	a.pop(&picker{title: a.t("In the background"), items: items, chooses: "shows its output", acts: "stops it",
		choose: func(p pick) {
			a.closeOwn()
			a.showTask(tasks[p.value])
		},
		act: func(p pick) {
			a.closeOwn()
			if err := a.talk.Turns.StopTask(a.ctx, p.value); err != nil {
				a.note(a.lang.Error(err))
			}
		}})
}

func (a *app) taskDetail(t agent.Task) string {
	detail := seconds(time.Since(t.Started))
	if t.ToolUses > 0 {
		detail += ", " + a.lang.Count(t.ToolUses, "call")
	}
	if t.LastTool != "" {
		detail += ", " + t.LastTool
	}
	return detail
}

// showTask shows what something in the background has written, the end of it.
func (a *app) showTask(t agent.Task) {
	text, err := tailOf(t.OutputFile, 256<<10)
	if err != nil {
		a.note(a.t("Could not read the output: %s", err))
		return
	}
	if t.Type == "local_agent" {
		text = a.agentSteps(text)
	}
	if strings.TrimSpace(text) == "" {
		text = a.t("(nothing so far)")
	}
	a.openText(taskName(t)+" · "+t.OutputFile, ansi.Strip(text))
	a.viewer.top = 1 << 30
}

// tailOf returns the end of a file, from the beginning of a line.
func tailOf(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-most, 0)
	raw, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if err != nil {
		return "", err
	}
	text := string(raw)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, nil
}

// agentSteps makes an agent's journal readable: what it said and what it called.
func (a *app) agentSteps(journal string) string {
	var b strings.Builder
	for l := range strings.SplitSeq(journal, "\n") {
		var e struct {
			Message struct {
				Role    model.Role    `json:"role"`
				Content []model.Block `json:"content"`
			} `json:"message"`
		}
		if json.Unmarshal([]byte(l), &e) != nil {
			continue
		}
		for _, block := range e.Message.Content {
			switch {
			case block.Type == model.ToolUse:
				fmt.Fprintf(&b, "● %s %s\n", block.Name, block.Input)
			case block.Type == model.ToolResult:
				fmt.Fprintf(&b, "%s\n\n", a.bounded(tool.Result{Content: block.Content}.Text(), 10))
			case block.Type == model.Text && e.Message.Role == model.Assistant:
				fmt.Fprintf(&b, "%s\n\n", block.Text)
			case harness.Typed([]model.Block{block}) != "":
				fmt.Fprintf(&b, "› %s\n\n", block.Text)
			}
		}
	}
	return b.String()
}
