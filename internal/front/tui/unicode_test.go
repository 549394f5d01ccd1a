package tui

import (
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/agent"
)

// scripts are texts with what terminals and editors easily lose: every space of Unicode, joined and
// coloured emoji, combining marks, text from right to left, and wide characters.
func scripts() []string {
	spaces := "a"
	for _, r := range unicode.Zs.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			spaces += string(c) + "b"
		}
	}
	return []string{
		spaces,
		"👩‍💻 👨‍👩‍👧‍👦 👍🏽 🇨🇭 ❤️ done",
		"e\u0301 a\u0308 \u0915\u094d\u0937 \u0e01\u0e33 done",
		"שלום עולם, مرحبا بالعالم done",
		"全角\u3000スペース 한국어 漢字 done",
		"10\u202f000\u00a0€\u00a0! done",
	}
}

// TestEveryScriptMakesTheRound types, pastes and sends each text, has the model answer with it,
// and copies the answer: it is the same everywhere, and what is shown has all of it.
func TestEveryScriptMakesTheRound(t *testing.T) {
	for _, text := range scripts() {
		t.Run(text, func(t *testing.T) {
			sized(t, Size{120, 40}, func(t *testing.T, b *bed) {
				for i, typed := range []string{text, "\x1b[200~" + text + "\x1b[201~"} {
					b.type_(typed)
					if lines, _, _ := b.app.write.View(200, nil); strings.Join(lines, "") != text {
						t.Errorf("the input box shows %q", lines)
					}
					b.type_("\r")
					if len(b.talk.sent) != i+1 || b.talk.sent[i] != text {
						t.Fatalf("sent %q, want %q", b.talk.sent, text)
					}
				}
				v := view{width: 120, height: 40}
				if said, _ := (&saidBlock{text: text}).take(v); strings.Join(said, "") != "› "+text {
					t.Errorf("the prompt is shown as %q", said)
				}
				b.tell(agent.TurnStarted{}, delta(0, text), stop(0))
				answer := b.app.textAt(1)
				answer.write(text)
				answer.close()
				lines, _ := answer.take(v)
				if got := ansi.Strip(strings.Join(lines, "")); got != text {
					t.Errorf("the answer is shown as %q", got)
				}
				b.tell(agent.Result{Reason: agent.Completed})
				b.type_("/copy\r")
				if len(b.talk.copied) != 1 || b.talk.copied[0] != text {
					t.Errorf("copied %q", b.talk.copied)
				}
			})
		})
	}
}
