package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
)

// TestAnOutputStyleIsPartOfThePrompt chooses a style of each kind and looks at what the
// model is told.
func TestAnOutputStyleIsPartOfThePrompt(t *testing.T) {
	const brief, coding = "a one-line question deserves", "Write code that its neighbours"
	for _, test := range []struct {
		name, chosen, used string
		told, left         []string
	}{
		{"none", "", "default", []string{brief, coding}, []string{"MINE", "[brief]", "[code]"}},
		{"haft's own", "explanatory", "Explanatory", []string{"# Explanations", coding}, []string{brief, "[code]"}},
		{"a file that keeps nothing", "Mine", "Mine", []string{"MINE", "Before anything that cannot be undone"}, []string{brief, coding}},
		{"a file that keeps work on code", "Coder", "Coder", []string{"CODER", coding}, []string{brief}},
		{"a project's that is not trusted", "poet", "poet", []string{brief, coding}, []string{"RHYME"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, says("a"), says("b"))
			home, _ := os.UserHomeDir()
			writeFile(t, filepath.Join(home, ".claude", "output-styles", "Mine.md"), "MINE")
			writeFile(t, filepath.Join(home, ".claude", "output-styles", "x.md"), "---\nname: Coder\nkeep-coding-instructions: true\n---\nCODER")
			writeFile(t, filepath.Join(r.dir, ".claude", "output-styles", "poet.md"), "RHYME")
			writeFile(t, filepath.Join(home, ".claude", "settings.json"), `{"outputStyle": "`+test.chosen+`"}`)
			c := r.talk(harness.Options{}, harness.TalkOptions{})
			defer c.Close(t.Context())
			if c.Style != test.used {
				t.Errorf("the style is %q", c.Style)
			}
			events, _ := r.say(c, "hi")
			first := r.server.Requests()[0].System()
			for _, text := range test.told {
				if !strings.Contains(first, text) {
					t.Errorf("the model is not told %q", text)
				}
			}
			for _, text := range test.left {
				if strings.Contains(first, text) {
					t.Errorf("the model is told %q", text)
				}
			}
			if warned := strings.Contains(notices(events), "output style"); warned != (test.chosen == "poet") {
				t.Errorf("warnings: %s", notices(events))
			}
			// Choosing another one leaves the running session's prefix as it is.
			if text, _ := answerOf(c, nil, "output-style", "learning"); !strings.Contains(text, "outputStyle is set to Learning") || !strings.Contains(text, "next session") {
				t.Errorf("it answers %q", text)
			}
			r.say(c, "again")
			if second := r.server.Requests()[1].System(); second != first {
				t.Error("the system prompt has changed within a session")
			}
			c2 := r.talk(harness.Options{}, harness.TalkOptions{})
			defer c2.Close(t.Context())
			if c2.Style != "Learning" {
				t.Errorf("the next session has the style %q", c2.Style)
			}
		})
	}
}

func notices(events []agent.Event) (texts string) {
	for _, ev := range events {
		if n, ok := ev.(agent.Notice); ok {
			texts += n.Text + "\n"
		}
	}
	return texts
}

// TestAProjectsStyleCountsOnceItIsTrusted names the project as a program does, which vouches.
func TestAProjectsStyleCountsOnceItIsTrusted(t *testing.T) {
	r := newRig(t, says("a"))
	writeFile(t, filepath.Join(r.dir, ".claude", "output-styles", "poet.md"), "RHYME")
	writeFile(t, filepath.Join(r.dir, ".claude", "settings.json"), `{"outputStyle": "poet"}`)
	c := r.talk(harness.Options{Sources: []settings.Source{settings.User, settings.Project}, TrustProject: true}, harness.TalkOptions{})
	defer c.Close(t.Context())
	r.say(c, "hi")
	if c.Style != "poet" || !strings.Contains(r.server.Requests()[0].System(), "RHYME") {
		t.Errorf("the style is %q", c.Style)
	}
}
