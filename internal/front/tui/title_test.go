package tui

import (
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
)

// TestTheWindowIsNamed looks at what the terminal is told, and that it is told once.
func TestTheWindowIsNamed(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		var out strings.Builder
		b.app.later(func() { b.app.opts.Title, b.app.opts.Out = true, &out })
		b.type_("a")
		b.type_("b")
		b.tell(agent.TurnStarted{})
		b.tell(agent.Result{})
		if got, want := out.String(), "\x1b]2;haft · project\a\x1b]2;✶ haft · project\a\x1b]2;haft · project\a"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestTerminalsAreExplained(t *testing.T) {
	for name, c := range map[string]struct{ program, term, tmux, want string }{
		"kitty":    {"", "xterm-kitty", "", "shift+enter already starts a new line here"},
		"ghostty":  {"ghostty", "xterm-ghostty", "", "already starts a new line"},
		"code":     {"vscode", "xterm-256color", "", "workbench.action.terminal.sendSequence"},
		"apple":    {"Apple_Terminal", "xterm-256color", "", "Use Option as Meta key"},
		"iterm":    {"iTerm.app", "xterm-256color", "", "Report modifiers using CSI u"},
		"a tmux":   {"tmux", "tmux-256color", "/tmp/s", "extended-keys on"},
		"anything": {"", "xterm", "", "alt+enter, ctrl+j"},
	} {
		text := new(app).terminalSetup(func(v string) string {
			return map[string]string{"TERM_PROGRAM": c.program, "TERM": c.term, "TMUX": c.tmux}[v]
		})
		if !strings.Contains(text, c.want) || !strings.Contains(text, "ctrl+j") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
