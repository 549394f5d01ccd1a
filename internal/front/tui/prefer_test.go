package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/test/needtest"
)

// TestVimAtThePrompt: esc leaves inserting first and interrupts then, enter sends from both
// modes, and the status line says which one it is.
func TestVimAtThePrompt(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/vim\r")
		b.sees("vim keys are active", "INSERT · asks first")
		if got := b.talk.builtins; len(got) != 1 || got[0] != "config editorMode vim user" {
			t.Errorf("kept %q", got)
		}
		b.type_("one two three\x1b")
		b.pause(escapeDelay + frame)
		b.sees("NORMAL · asks first")
		b.type_("bdwbcwsix")
		b.sees("› one six")
		b.type_("\x1b")
		b.pause(escapeDelay + frame)
		b.tell(agent.TurnStarted{})
		b.type_("\x1b")
		b.pause(escapeDelay + frame)
		if b.talk.interrupts != 1 {
			t.Errorf("%d interrupts, want 1", b.talk.interrupts)
		}
		b.type_("\r")
		if len(b.talk.sent) != 1 || b.talk.sent[0] != "one six" {
			t.Errorf("sent %q", b.talk.sent)
		}
		b.type_("i?")
		b.sees("INSERT", "› i?")
		b.type_("\x15/vim\r")
		b.sees("The usual keys are active again.")
	})
}

// TestThemesAreChosen looks at the colours that are drawn with.
func TestThemesAreChosen(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/theme light\r")
		if b.app.paint.Prompt != style.Of(style.Light).Prompt {
			t.Error("the colours are not those of light")
		}
		b.type_("\x1b]11;rgb:0000/0000/0000\x1b\\") // the terminal's answer comes late
		b.type_("/theme night\r")
		b.sees("There is no theme night.")
		if got := strings.Join(b.talk.builtins, ", "); got != "config theme light user" {
			t.Errorf("kept %s", got)
		}
		b.talk.theme = "dark-daltonized"
		b.type_("/new\r")
		if b.app.paint.Good != style.Of(style.DarkBlind).Good {
			t.Error("the setting was not taken over")
		}
	})
	in(t, func(t *testing.T, b *bed) {
		b.app.later(func() { b.app.opts.FixedTheme = true })
		b.talk.theme = "light"
		b.type_("/new\r")
		if b.app.paint != (style.Palette{}) {
			t.Error("the environment does not go before the setting")
		}
	})
}

// TestTheStatusLineOfTheSettings runs a real command: it is told what is so, its colours stay,
// and nothing else in what it prints reaches the terminal.
func TestTheStatusLineOfTheSettings(t *testing.T) {
	needtest.Program(t, "sh")
	for name, c := range map[string]struct{ command, want string }{
		"told":     {`in=$(cat); case $in in *'"session_id":"5e55"'*'"transcript_path":"/j.jsonl"'*) echo "knows it"; echo two;; *) echo "$in";; esac`, "knows it"},
		"escapes":  {`printf '\033[31mred\033[0m \033]0;title\007\033[2J'`, `red \u{1b}]0;title\u{7}\u{1b}[2J`},
		"a lot":    {`yes x | head -c 100000 | tr -d '\n'`, strings.Repeat("x", 79) + "…"},
		"it fails": {`exit 3`, "The statusLine command failed: exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in(t, func(t *testing.T, b *bed) {
				b.talk.dir, b.talk.statusLine = dir, c.command
				b.type_("a")
				b.pause(2 * frame)
				b.sees(c.want)
				if name == "told" {
					if s := b.screen(); strings.Contains(s, "two") {
						t.Errorf("more than a line is shown:\n%s", s)
					}
				}
			})
		})
	}
	if got := onlyColours("a\x1b[1;31mb\x1b[0m\x1b[3Jc"); got != "a\x1b[1;31mb\x1b[0m\\u{1b}[3Jc" {
		t.Errorf("%q", got)
	}
}

// TestAStatusLineThatHangsIsEnded: neither it nor what it has started holds anything up.
func TestAStatusLineThatHangsIsEnded(t *testing.T) {
	started := time.Now()
	_, err := commandLine(t.Context(), 100*time.Millisecond, "sleep 10 & sleep 10", t.TempDir(), "{}")
	if err == nil || err.Error() != "it took longer than 100ms" {
		t.Errorf("the error is %v", err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
