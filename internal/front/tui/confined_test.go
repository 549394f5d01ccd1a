package tui

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/tools/bash"
	"github.com/haftdev/haft/tool"
)

// TestTheScreenSaysWhatConfinesCommands looks at the cards and the last line.
func TestTheScreenSaysWhatConfinesCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Size{100, 30}, style.Palette{})
		defer b.close()
		if s := b.screen(); strings.Contains(strings.ToLower(s), "sandbox") {
			t.Errorf("the tier is shown before it is known:\n%s", s)
		}
		for id, out := range map[string]bash.Output{
			"1": {Confinement: tool.ReadOnly, Sandbox: "box"}, "2": {Confinement: tool.ProjectOnly, Sandbox: "landlock"}, "3": {Confinement: tool.Unconfined, Sandbox: "none"},
		} {
			end := returned(id, "Bash", "x").(agent.Returned)
			end.Outcome.Result.Output = out
			b.tell(agent.TurnStarted{Model: "scripted-1", Mode: "default"}, use(id, "Bash", `{"command":"make`+id+`"}`), runs(id), end)
		}
		b.sees("● Bash · read-only · 2s", "● Bash · project only by landlock · 2s", "● Bash · not confined · 2s")
		for _, sandbox := range [][2]string{{"sandbox box", "sandboxed"}, {"sandbox landlock", "sandboxed (landlock only)"}, {noSandbox, noSandbox}} {
			b.talk.sandbox = sandbox[0]
			b.tell(agent.Result{Reason: agent.Completed})
			b.sees(sandbox[1])
		}
	})
}
