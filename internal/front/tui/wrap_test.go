package tui

import (
	"context"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
)

// TestFootersAreNotCut opens texts and lists with long names at three widths: what keys do is
// said in whole words, and how to close comes first.
func TestFootersAreNotCut(t *testing.T) {
	for _, size := range []Size{{80, 24}, {120, 40}, {40, 15}} {
		sized(t, size, func(t *testing.T, b *bed) {
			b.app.later(func() { b.app.openText(strings.Repeat("a long title ", 12), strings.Repeat("line\n", 300)) })
			b.type_("g")
			lines := strings.Split(strings.TrimRight(b.screen(), "\n"), "\n")
			if foot := lines[len(lines)-1]; !strings.Contains(foot, "q closes") || strings.HasSuffix(foot, "…") {
				t.Errorf("at %v the footer is %q", size, foot)
			}
			b.type_("q")
			b.talk.earlier()
			b.type_("/resume\r")
			b.sees("enter resumes it")
			for l := range strings.Lines(b.screen()) {
				if strings.Contains(l, "enter resumes it") && strings.Contains(l, "…") {
					t.Errorf("at %v the footer is %q", size, l)
				}
			}
		})
	}
}

// TestTabAndEnterAtOnceExplainThemselves: nothing is answered, nothing is sent, and why is said.
func TestTabAndEnterAtOnceExplainThemselves(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.type_("half a prompt")
		c, q := bashCase("make")
		answer := b.ask(ctx, c, q)
		b.pause(arming + frame)
		b.type_("\t\r")
		b.sees("too soon after tab", "› half a prompt")
		if len(b.talk.sent) > 0 || len(answer) > 0 {
			t.Errorf("sent %q, answered %v", b.talk.sent, len(answer) > 0)
		}
		b.pause(arming)
		b.type_("\t")
		b.pause(settling)
		b.type_("\r")
		b.sees("Nothing is selected: y allows it once, n denies it.")
	})
}

// TestWrappingLosesNoLetter breaks texts at every width: all letters stay, and no line is
// wider than it may be.
func TestWrappingLosesNoLetter(t *testing.T) {
	for _, text := range []string{
		"This folder contains 3 items, including hooks that guard it. Your prompts wait for your answer:",
		"mcp server files: npx -y @modelcontextprotocol/server-filesystem /very/long/path/without-a-blank",
		"y Allow this once: Bash(git commit:*) in .claude/settings.local.json (left and right choose where)",
		"这个文件夹带来 3 项会运行、连接或放行的内容: 包括 hooks，你写的内容会等待你的回答",
		"a-b--c ---- d", " x  y   z ", "ends with dash- ",
	} {
		squeezed := strings.ReplaceAll(text, " ", "")
		for width := 4; width < 120; width++ {
			parts := hardWrap(text, width)
			if got := strings.ReplaceAll(strings.Join(parts, ""), " ", ""); got != squeezed {
				t.Errorf("at %d columns %q became %q", width, text, parts)
			}
			for _, p := range parts {
				if ansi.StringWidth(p) > width {
					t.Errorf("at %d columns there is %q", width, p)
				}
			}
		}
	}
}

// TestATranscriptHasNoEscapesOfHTML: what was called is shown as it was written.
func TestATranscriptHasNoEscapesOfHTML(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		ev := returned("1", "Bash", "ok").(agent.Returned)
		ev.Outcome.Input = []byte(`{"command":"a \u0026\u0026 b > c"}`)
		b.tell(agent.TurnStarted{}, use("1", "Bash", `{"command":"a && b > c"}`), runs("1"), ev, agent.Result{})
		b.type_("\x0f")
		b.sees(`"command": "a && b > c"`)
	})
}

// TestChoicesShowAllOfTheirBody presses the key that a short screen names for the rest of
// what a choice is about.
func TestChoicesShowAllOfTheirBody(t *testing.T) {
	sized(t, Size{40, 15}, func(t *testing.T, b *bed) {
		screens()["rewind-files"](b, t.Context())
		b.sees("more lines (ctrl+o shows them)")
		b.type_("\x0f")
		b.sees("parser/parser.go", "Another program has changed", "--force")
		b.type_("q")
		b.sees("▸ 1 Conversation and files")
	})
}

func TestHangingWrap(t *testing.T) {
	for in, want := range map[string]string{
		"short":                            "short",
		"a row that is too long":           "a row that is too|  long",
		"  - an item that wraps twice, so": "  - an item that|    wraps twice, so",
		"                    deep indent":  "          deep|            indent",
	} {
		if got := strings.Join(hangingWrap(in, 20), "|"); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
