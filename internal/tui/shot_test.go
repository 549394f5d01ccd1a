package tui

import (
	"context"
	"fmt"
	"html"
	"image/color"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/golden"
	"github.com/haftdev/haft/internal/tui/style"
	"github.com/haftdev/haft/internal/workspace/patch"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// TestPictures draws the pictures of the documentation from the emulated terminal,
// so that they cannot show what haft does not do.
func TestPictures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{92, 38}, style.Of(style.Dark).Fine(func(string) string { return "truecolor" }))
		defer b.close()
		b.talk.tools = summarized()
		b.tell(agent.TurnStarted{Model: "claude-opus-5-5", Mode: "default"}, prompted("The test of this package fails. Fix the code."))
		b.tell(delta(0, "I'll run the test first, and look at the code at once.\n"), stop(0))
		b.tell(use("1", "Bash", `{"command":"go test ./..."}`), use("2", "Read", `{"file_path":"basket.go"}`), runs("1"), runs("2"))
		b.tell(returned("2", "Read", "23 lines"), failed("1", "Bash", "--- FAIL: TestTotal (0.00s)\n    basket_test.go:17: Total() = 300, want 900\n    basket_test.go:21: Total() = 12, want 36\nFAIL\nFAIL\texample.com/basket\t0.028s\nFAIL"))
		b.tell(delta(0, "`Total` adds the price of **one** piece, however many there are:\n\n```go\nfor _, item := range b.Items {\n\tsum += item.Price // should be * item.Pieces\n}\n```\n"), stop(0))
		b.tell(use("3", "Edit", `{"file_path":"basket.go"}`), runs("3"), edited("3"))
		b.tell(agent.Changed{What: agent.Todos, Value: []todo{{"Find the cause", "Finding the cause", "completed"}, {"Fix it and test again", "Fixing it", "in_progress"}}})
		b.tell(use("4", "Bash", `{"command":"go test -v ./..."}`), use("5", "Agent", `{"description":"find other uses of Pieces"}`), runs("4"), runs("5"),
			agent.Called{Event: sched.Event{UseID: "4", Progress: tool.BashProgress{Output: "=== RUN   TestTotal\n--- PASS: TestTotal (0.00s)\n", Lines: 2}}},
			agent.TaskChanged{Task: agent.Task{ID: "a", UseID: "5", Type: "local_agent", Status: "running"}},
			agent.Said{Agent: "a", Block: model.Block{Type: model.ToolUse, Name: "Grep", Input: []byte(`{"pattern":"Pieces"}`)}},
			agent.Said{Agent: "a", Block: model.Block{Type: model.ToolUse, Name: "Read", Input: []byte(`{"file_path":"order/order.go"}`)}})
		b.pause(2 * time.Second)
		b.mu.Lock()
		picture(t, "terminal-working.svg", b.term)
		b.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.tell(returned("4", "Bash", "ok  \texample.com/basket\t0.028s"), returned("5", "Agent", "3 uses, all of them right"), use("1", "Bash", `{"command":"git push --force origin main"}`))
		c, q := bashCase("git push --force origin main")
		q.Reason, q.Suggestions = "git push --force can lose what others have pushed", []tool.Suggestion{{Rule: "Bash(git push:*)", Behavior: tool.Allow}}
		b.ask(ctx, c, q)
		b.pause(arming + frame)
		b.type_("\t")
		b.mu.Lock()
		picture(t, "terminal-question.svg", b.term)
		b.mu.Unlock()
	})
}

// TestPictureOfAPreview draws the question about what a command changed.
func TestPictureOfAPreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{92, 38}, style.Of(style.Dark).Fine(func(string) string { return "truecolor" }))
		defer b.close()
		b.talk.tools = summarized()
		b.tell(agent.TurnStarted{Model: "claude-opus-5-5", Mode: "default"}, prompted("Bring the generated files up to date."))
		b.tell(delta(0, "The generator and the fixer do that.\n"), stop(0), use("1", "Bash", `{"command":"make gen && ./scripts/fix.sh"}`))
		c, q := bashCase("make gen && ./scripts/fix.sh")
		text := func(s string) *tool.Version { return tool.NewVersion(0o644, []byte(s), []byte(s)) }
		c.Preview = &tool.Preview{Ran: true, Files: []tool.FileChange{
			{Path: "/src/app/.github/workflows/test.yml", Before: text("on: push\n"), After: text("on: [push, pull_request]\n"), Protected: "CI runs what it says"},
			{Path: "/src/app/kind.go", Before: text("const (\n\tSmall Kind = iota\n\tLarge\n)\n"), After: text("const (\n\tSmall Kind = iota\n\tLarge\n\tHuge\n)\n")},
			{Path: "/src/app/logo.png", Before: tool.NewVersion(0o644, []byte("\x89PNG\x0D\x0A\x1A\x0Aold"), nil), After: tool.NewVersion(0o644, []byte("\x89PNG\x0D\x0A\x1A\x0Anewer"), nil)},
			{Path: "/src/app/kind_string.go", Before: text("a\n"), After: text("b\n"), Folded: "generated"},
		}, Notes: []string{
			"/src/app/.git: heads/main 3f9a1c2 → 8b17bf7, commit 8b17bf7 \"Generate\", the index",
			"It also wrote 412 files in caches; cache writes are dropped.",
		}}
		q.Reason = "it changed /src/app/.github/workflows/test.yml: it is protected: CI runs what it says (and 3 more)"
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.ask(ctx, c, q)
		b.pause(arming + frame)
		b.type_("\t")
		b.mu.Lock()
		defer b.mu.Unlock()
		picture(t, "preview-question.svg", b.term)
	})
}

// summarized are tools that say in a line what a call is about.
func summarized() *tool.Set {
	type input struct {
		Command string `json:"command,omitempty"`
		Path    string `json:"file_path,omitempty"`
		Pattern string `json:"pattern,omitempty"`
		About   string `json:"description,omitempty"`
	}
	var tools []tool.Tool
	for _, name := range []string{"Agent", "Bash", "Edit", "Grep", "Read"} {
		def := tool.Def[input, string]{
			Name: name, Description: name, Run: func(context.Context, *tool.Call, input) (string, error) { return "", nil },
			Paths:     func(_ *tool.Call, in input) tool.Paths { return tool.Paths{Writes: []string{in.Path}} },
			Summarize: func(in input) string { return in.Command + in.Path + in.Pattern + in.About },
		}
		if name != "Bash" {
			def.SummarizeResult = func(out string) string { return out }
		}
		tools = append(tools, tool.New(def))
	}
	return tool.NewSet(&tool.Session{Interactive: true}, tools, nil, nil)
}

// failed is a call that ran and did not do what was asked.
func failed(id, name, text string) agent.Event {
	ev := returned(id, name, text).(agent.Returned)
	ev.Outcome.Status = sched.Failed
	return ev
}

// edited is a change to a file, as the Edit tool returns it.
func edited(id string) agent.Event {
	r := tool.Text("edited")
	r.Output = map[string]any{"structuredPatch": []patch.Hunk{{OldStart: 12, OldLines: 3, NewStart: 12, NewLines: 3, Lines: []string{
		" \tfor _, item := range b.Items {", "-\t\tsum += item.Price", "+\t\tsum += item.Price * item.Pieces", " \t}"}}}}
	now := time.Now()
	return agent.Returned{Outcome: &sched.Outcome{UseID: id, Tool: "Edit", Status: sched.Succeeded, Result: r, Started: now, Ended: now}}
}

// picture compares a screen with the picture of it in the documentation.
func picture(t *testing.T, name string, term *vt.Emulator) {
	t.Helper()
	golden.Check(t, filepath.Join("..", "..", "docs", name), svg(term))
}

// svg draws a screen.
func svg(term *vt.Emulator) string {
	const cw, ch, pad = 8.4, 18, 12
	height := term.Height()
	for height > 1 && blank(term, height-1) {
		height--
	}
	w, h := float64(term.Width())*cw+2*pad, float64(height)*ch+2*pad
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">`+"\n", w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="#16181d"/>`+"\n")
	for y := range height {
		for x := 0; x < term.Width(); {
			c := term.CellAt(x, y)
			if c == nil || c.Content == "" {
				x++
				continue
			}
			text, end := "", x
			for end < term.Width() {
				n := term.CellAt(end, y)
				if n == nil || n.Style != c.Style {
					break
				}
				text += n.Content
				end += max(n.Width, 1)
			}
			run(&b, c.Style, text, pad+float64(x)*cw, float64(pad+y*ch), float64(end-x)*cw, ch)
			x = end
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func blank(term *vt.Emulator, y int) bool {
	for x := range term.Width() {
		if c := term.CellAt(x, y); c != nil && strings.TrimSpace(c.Content) != "" {
			return false
		}
	}
	return true
}

// run draws text of one style.
func run(b *strings.Builder, s uv.Style, text string, x, y, w, h float64) {
	fg, bg := hex(s.Fg, "#d5d8de"), hex(s.Bg, "")
	if s.Attrs&uv.AttrReverse != 0 {
		fg, bg = "#16181d", fg
	}
	if bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", x, y, w, h, bg)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	attrs := ""
	if s.Attrs&uv.AttrBold != 0 {
		attrs += ` font-weight="bold"`
	}
	if s.Attrs&uv.AttrItalic != 0 {
		attrs += ` font-style="italic"`
	}
	if s.Attrs&uv.AttrFaint != 0 {
		attrs += ` opacity="0.6"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" xml:space="preserve" fill="%s"%s>%s</text>`+"\n", x, y+h-5, w, fg, attrs, html.EscapeString(text))
}

func hex(c color.Color, none string) string {
	if c == nil {
		return none
	}
	if basic, ok := c.(ansi.BasicColor); ok {
		return []string{"#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5d8de"}[basic%8]
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
