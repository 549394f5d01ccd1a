package tui

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/answers"
	"github.com/haftdev/haft/internal/harness/doctor"
	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
)

// answered are the commands whose answer is a text on the screen.
var answeredCommands = []string{"status", "cost", "context", "hooks", "doctor", "add-dir", "skills", "output-style"}

// realAnswers lets a real conversation answer commands after two turns. What differs
// from run to run and from machine to machine is replaced.
func realAnswers(t *testing.T) func(words *lang.Catalogue, name string) string {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "XDG_CACHE_HOME": filepath.Join(home, ".cache"), "CLAUDE_CONFIG_DIR": filepath.Join(home, ".claude"),
		"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": "", "ANTHROPIC_AUTH_TOKEN": ""} {
		t.Setenv(name, value)
	}
	put(t, filepath.Join(home, ".claude", "settings.json"), `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/check-commands --strict --log ~/commands.log"}]}]}}`)
	put(t, filepath.Join(home, ".haft", "skills", "pdf", "SKILL.md"), "---\ndescription: Reads PDFs\n---\nx")
	server, err := scripttest.Serve(t, &script.Options{Scenario: &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: "hello"}}}, {Blocks: []script.Block{{Text: "again"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	w, err := harness.Open(&harness.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Talk(t.Context(), &harness.TalkOptions{Version: "v0", Client: anthropic.New(&anthropic.Options{BaseURL: server.URL(), Key: "k"}), Model: "claude-opus-5-5"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	for _, text := range []string{"say hello", "and again"} {
		c.Send(agent.Prompt{Content: []model.Block{model.TextOf(text)}})
		for _, err := range c.Run(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	fixed := strings.NewReplacer(c.Agent.Session(), "5e55a9d1-0000-4000-8000-123456789abc", dir, "/home/me/src/project", home, "/home/me")
	return func(words *lang.Catalogue, name string) string {
		text, _, _ := answers.AtTerminal(c, words, name, "")
		if name == "doctor" {
			text = diagnosed(c, words)
		}
		if name == "cost" || name == "context" {
			text = numbers.ReplaceAllStringFunc(text, func(s string) string { return s[:1] + "7" })
			text = open.ReplaceAllString(text, "${1}7m7s")
			text = wide.ReplaceAllString(text, "$1  ")
		}
		return fixed.Replace(text)
	}
}

var (
	numbers = regexp.MustCompile(`[ $(]\d+(\.\d+)?[kM]?\b`)
	open    = regexp.MustCompile(`(open for |已打开 )[\dhms.]*s`)
	wide    = regexp.MustCompile(`(\S) {2,}`)
)

// diagnosed is what a doctor says wherever it is.
func diagnosed(c *harness.Conversation, words *lang.Catalogue) string {
	d := doctor.Diagnose(c.World.Project, &doctor.Options{Version: "v0", Lang: words})
	all := d.Checks
	d.Checks = nil
	for _, check := range all {
		if check.Area == "model" || check.Area == "permissions" {
			d.Checks = append(d.Checks, check)
		}
	}
	d.Warn("programs", words.T("there is no %s", "pdftotext"), words.T("the Read tool needs it to show the text of PDF pages; install poppler-utils"))
	return d.Text()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
