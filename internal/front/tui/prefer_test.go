package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model"
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
		"told":     {`in=$(cat); case $in in *'"added_dirs":["/more"]'*) echo "knows it"; echo two; echo three; echo four;; *) echo "$in";; esac`, "three"},
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
					if s := b.screen(); !strings.Contains(s, "knows it") || strings.Contains(s, "four") {
						t.Errorf("not its first three lines are shown:\n%s", s)
					}
				}
			})
		})
	}
	if got := onlyColours("a\x1b[1;31mb\x1b[0m\x1b[3Jc"); got != "a\x1b[1;31mb\x1b[0m\\u{1b}[3Jc" {
		t.Errorf("%q", got)
	}
}

// What a command of others reads has the names and types that Claude Code's has.
func TestWhatAStatusLineIsTold(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.tell(agent.TurnStarted{Model: "claude-opus-5-5", Mode: "default"}, agent.Said{Block: model.TextOf("a"), Usage: model.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}}, agent.Result{Reason: agent.Completed, APITime: time.Second})
		_, facts := b.talk.StatusLine()
		var told string
		b.app.later(func() { told = b.app.statusJSON(facts, 2*time.Second) })
		b.pause(frame)
		want := `{"context_window":{"context_window_size":200000,"current_usage":{"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"input_tokens":1,"output_tokens":2},"remaining_percentage":75,"total_input_tokens":50000,"total_output_tokens":0,"used_percentage":25},` +
			`"cost":{"total_api_duration_ms":1000,"total_cost_usd":0.25,"total_duration_ms":2000,"total_lines_added":0,"total_lines_removed":0},"cwd":"/nowhere/project","effort":{"level":"high"},"exceeds_200k_tokens":false,"hook_event_name":"Status",` +
			`"model":{"display_name":"Claude Opus 5.5","id":"claude-opus-5-5"},"output_style":{"name":"Learning"},"permission_mode":"default","session_id":"5e55","transcript_path":"/j.jsonl","version":"v0",` +
			`"workspace":{"added_dirs":["/more"],"current_dir":"/nowhere/project","project_dir":"/nowhere/project"}}`
		if told != want {
			t.Errorf("%s\nwant\n%s", told, want)
		}
	})
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
