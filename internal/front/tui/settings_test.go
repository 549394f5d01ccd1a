package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ran compares the commands that were run.
func (b *bed) ran(want ...string) {
	b.t.Helper()
	if d := cmp.Diff(want, b.talk.builtins); d != "" {
		b.t.Errorf("(-want +got)\n%s\n%s", d, b.screen())
	}
	b.talk.builtins = nil
}

func TestRulesAreShownAddedAndRemoved(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/permissions\r")
		b.sees("▸ Add a rule…", "deny  Read(./secret)  managed settings", "allow Bash(make:*)    .claude/settings.local.json:3", "delete removes it")
		b.type_("make")
		b.type_("\x1b[3~") // delete
		b.ran("permissions remove allow Bash(make:*) local")
		b.type_("/permissions\r\r")
		b.sees("What to do with calls that match", "1 allow")
		b.type_("3\r")
		b.type_("Bash(rm:*)\r")
		b.sees("Saved in", "▸ 2 local: .claude/settings.local.json", "4 user")
		b.type_("4\r")
		b.ran("permissions add deny Bash(rm:*) user")
		b.type_("/permissions plan\r")
		b.ran("permissions plan")
		b.type_("/permissions\rsecret\r")
		b.sees("deny Read(./secret) comes from managed settings.")
	})
}

func TestSettingsAreChangedByAMenu(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("/config\r")
		b.sees("▸ model       opus  the model that answers", "preview     -  preview what commands")
		b.type_("prev\r")
		b.sees("It takes one of off, ask.", "3 (not set)")
		b.type_("2\r1\r")
		b.ran("config preview ask local")
		b.type_("/config\rprev\r3\r\r")
		b.ran("config unset preview user")
		b.type_("/config\r\r")
		b.sees("It is now opus", "▸ Value: opus")
		b.type_("sonnet\r\r")
		b.ran("config model sonnet user")
		b.type_("/config model haiku\r")
		b.ran("config model haiku")
	})
}

func TestNotesAreKept(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		b.type_("# always run make lint\r")
		b.sees("Where should this note be saved?", "always run make lint", "▸ 1 AGENTS.md: for everyone who works on this project", "3 do not save it: send it as a prompt")
		b.type_("2\r")
		b.ran("memory add user always run make lint")
		b.type_("#12 is broken\r")
		b.type_("3\r")
		if d := cmp.Diff([]string{"#12 is broken"}, b.talk.sent); d != "" {
			t.Error(d)
		}
		b.type_("# not now\r")
		b.type_("\x03") // closes the question, and nothing is lost
		if b.app.write.Text() != "# not now" || b.talk.builtins != nil {
			t.Errorf("%q is written, %q was run", b.app.write.Text(), b.talk.builtins)
		}
	})
}

func TestInstructionsAreEdited(t *testing.T) {
	in(t, func(t *testing.T, b *bed) {
		edited := ""
		b.app.later(func() { b.app.opts.EditFile = func(path string) error { edited = path; return nil } })
		b.type_("/memory\r")
		b.sees("▸ AGENTS.md               for everyone who works on this project", "/home/me/.haft/HAFT.md  for you, everywhere, does not exist yet", "docs/more.md            sent to the model")
		b.type_("more\r")
		b.sees("Edited docs/more.md")
		if edited != "/nowhere/project/docs/more.md" {
			t.Errorf("%q was edited", edited)
		}
		b.type_("/memory add user x\r")
		b.ran("memory add user x")
	})
}
