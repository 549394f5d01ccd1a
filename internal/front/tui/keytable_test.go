package tui

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/agent"
)

// pressed is what a terminal sends for a key of the table.
func pressed(name string) string {
	named := map[string]string{
		"enter": "\r", "tab": "\t", "shift+tab": "\x1b[Z", "esc": "\x1b", "up": "\x1b[A", "down": "\x1b[B", "home": "\x1b[H", "end": "\x1b[F",
		"pageup": "\x1b[5~", "pagedown": "\x1b[6~",
	}
	if s, ok := named[name]; ok {
		return s
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return string(rune(letter[0] & 0x1f))
	}
	return name
}

// TestEveryKey presses each key of the table where it means something. A key without a case
// here fails.
func TestEveryKey(t *testing.T) {
	cases := map[string]func(t *testing.T, b *bed, press func()){
		"enter": func(t *testing.T, b *bed, press func()) {
			b.type_("say it")
			press()
			if d := cmp.Diff([]string{"say it"}, b.talk.sent); d != "" {
				t.Error(d)
			}
		},
		"up": func(t *testing.T, b *bed, press func()) {
			b.type_("older\rnewer\r")
			press()
			b.sees("› newer")
			press()
			b.sees("› older")
		},
		"down": func(t *testing.T, b *bed, press func()) {
			b.type_("older\rnewer\r\x1b[A\x1b[A")
			press()
			if b.app.write.Text() != "newer" {
				t.Errorf("%q", b.app.write.Text())
			}
		},
		"tab": func(t *testing.T, b *bed, press func()) {
			b.type_("/co")
			press()
			if b.app.write.Text() != "/cost " {
				t.Errorf("%q", b.app.write.Text())
			}
			b.type_("\x15")
			b.tell(agent.TurnStarted{}, prompted("say it"), agent.Result{Reason: agent.AbortedStreaming})
			b.sees("what should haft do? (tab: continue · / commands")
			press()
			if b.app.write.Text() != "continue" {
				t.Errorf("%q", b.app.write.Text())
			}
		},
		"shift+tab": func(t *testing.T, b *bed, press func()) {
			press()
			b.sees("plan only")
			press()
			b.sees("edits allowed")
			if b.talk.Mode() != "plan" {
				t.Error("edits are allowed on the way through the modes")
			}
			b.pause(widening)
			if b.talk.Mode() != acceptEdits {
				t.Error("edits are not allowed")
			}
		},
		"esc": func(t *testing.T, b *bed, press func()) {
			b.tell(agent.TurnStarted{})
			press()
			b.pause(escapeDelay + frame)
			if b.talk.interrupts != 1 {
				t.Error("it was not interrupted")
			}
		},
		"ctrl+c": func(t *testing.T, b *bed, press func()) {
			b.type_("no")
			press()
			if !b.app.write.Empty() {
				t.Error("it was not cleared")
			}
			press()
			b.sees("ctrl+c again quits")
		},
		"ctrl+d": func(t *testing.T, b *bed, press func()) {
			press()
			<-b.done
		},
		"ctrl+o": func(t *testing.T, b *bed, press func()) {
			b.tell(agent.TurnStarted{}, prompted("say it"), delta(0, "A word.\n"), stop(0), agent.Result{})
			press()
			if s := b.screen(); !strings.Contains(s, "── You\nsay it\n\n── Answer\nA word.\n") {
				t.Errorf("the screen is\n%s", s)
			}
			press()
			b.sees("› what should haft do?")
		},
		"ctrl+g": func(t *testing.T, b *bed, press func()) {
			b.app.later(func() { b.app.opts.Edit = func(s string) (string, error) { return s + " edited\n", nil } })
			b.type_("text")
			press()
			b.sees("› text edited")
		},
		"ctrl+b": func(t *testing.T, b *bed, press func()) {
			press()
			b.sees("nothing is running in the background")
			b.talk.foreground = true
			b.tell(agent.TurnStarted{})
			press()
			b.sees("moved to the background")
			if b.talk.backgrounds != 1 {
				t.Error("nothing was moved")
			}
		},
		"ctrl+t": func(t *testing.T, b *bed, press func()) {
			press()
			b.sees("there are no todos")
			b.tell(agent.TurnStarted{}, agent.Changed{What: agent.Todos, Value: []todo{{"Find it", "Finding it", "completed"}, {"Fix it", "Fixing it", "in_progress"}}})
			for i, want := range []bool{true, false, true} {
				if i > 0 {
					press()
				}
				if got := strings.Contains(b.screen(), "▸ Fixing it"); got != want {
					t.Errorf("after %d presses the list is shown: %v", i, got)
				}
			}
			b.tell(agent.Result{})
			b.sees("▸ Fixing it") // between turns as well
		},
		"ctrl+v": func(t *testing.T, b *bed, press func()) {
			press()
			b.sees("wl-paste is needed for that; install wl-clipboard")
			b.talk.home, b.talk.picture = t.TempDir(), "\x89PNG"
			b.type_("what is in ")
			press()
			b.sees("› what is in [image 1]")
			b.type_("?\r")
			if n := len(b.talk.sent); n != 1 || b.talk.sent[0] != "what is in [image 1] ?\nan image" {
				t.Errorf("sent %q", b.talk.sent)
			}
		},
		"ctrl+r": func(t *testing.T, b *bed, press func()) {
			b.type_("run all tests\r")
			press()
			b.sees("Your earlier prompts:", "▸ run all tests")
		},
		"ctrl+l": func(t *testing.T, b *bed, press func()) {
			press()
			if s := b.screen(); !strings.HasPrefix(s, "\n› what should haft do?") {
				t.Errorf("the screen is\n%s", s)
			}
		},
		"ctrl+z": func(t *testing.T, b *bed, press func()) {
			stopped := false
			b.app.later(func() { b.app.opts.Suspend = func() error { stopped = true; return nil } })
			press()
			if !stopped {
				t.Error("it was not suspended")
			}
		},
		"?": func(t *testing.T, b *bed, press func()) {
			press()
			b.sees("At the prompt", "clear the screen")
			b.type_("G")
			b.sees("repeat the last change")
			b.type_("/cut the word before\r")
			b.sees("cut the word before the cursor", "to the next match")
			b.type_("qwhy")
			press()
			b.sees("› why?")
		},
	}
	for _, row := range bindings() {
		for _, name := range row.keys {
			t.Run(name, func(t *testing.T) {
				try := cases[row.keys[0]]
				if try == nil || row.does == "" {
					t.Fatal("no test presses it, or no help names it")
				}
				in(t, func(t *testing.T, b *bed) { try(t, b, func() { b.type_(pressed(name)) }) })
			})
		}
	}
}

// TestEveryViewerKey presses the keys of a text on the whole screen, beginning in the middle.
func TestEveryViewerKey(t *testing.T) {
	want := map[string]string{"up": "49", "down": "51", "pageup": "28", "pagedown": "72", "home": "0", "end": "78", "/": "64", "n": "75", "N": "53"}
	for _, row := range viewerKeys() {
		for _, name := range row.keys {
			t.Run(name, func(t *testing.T) {
				in(t, func(t *testing.T, b *bed) {
					var text strings.Builder
					for i := range 100 {
						fmt.Fprintf(&text, "line %d%s\n", i, map[int]string{53: " Needle", 64: " needle", 75: " NEEDLE"}[i])
					}
					b.app.later(func() { b.app.openText("numbers", text.String()); b.app.viewer.top = 50 })
					b.pause(2 * frame)
					if row.keys[0] == "n" || row.keys[0] == "N" {
						b.app.later(func() { b.app.viewer.top = 60 })
						b.type_("/needle\r")
					}
					b.type_(pressed(name))
					if row.keys[0] == "/" {
						b.app.later(func() { b.app.viewer.top = 60 })
						b.type_("needle\r")
						b.sees("n, N: next")
					}
					b.pause(escapeDelay + frame)
					first, _, _ := strings.Cut(b.screen(), "\n")
					if row.keys[0] == "q" {
						b.sees("what should haft do?")
					} else if got := strings.Fields(first)[1]; got != want[row.keys[0]] {
						t.Errorf("the first line is %q, want %s", first, want[row.keys[0]])
					}
				})
			})
		}
	}
}

func TestASearchThatFindsNothingSaysSo(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.app.later(func() { b.app.openText("text", "one\ntwo\n") })
		b.type_("/three\r")
		b.sees("not found: three")
		b.type_("/TWO\r")
		b.sees("n, N: next")
	})
}

// TestTheDocsHaveTheKeys compares the table of docs/terminal.md.
func TestTheDocsHaveTheKeys(t *testing.T) {
	docs, err := os.ReadFile("../../../docs/terminal.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range keyTable() {
		want := fmt.Sprintf("| %s | |\n|---|---|\n", strings.ToLower(string(g.title[:1]))+string(g.title[1:]))
		for _, r := range g.rows {
			want += fmt.Sprintf("| %s | %s |\n", r.named(), strings.ReplaceAll(string(r.does), "\\ ", "`\\` "))
		}
		if !strings.Contains(string(docs), want) {
			t.Errorf("docs/terminal.md lacks this table:\n%s", want)
		}
	}
}
