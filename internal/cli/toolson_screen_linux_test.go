package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/haftdev/haft/model/script"
)

// TestAScreenWithToolsElsewhere has a user in front of the screen whose tools run over SSH. The
// screen says where, a question names the machine, Esc ends the command there, and a connection
// that is lost in the middle of a command leaves the model without its outcome, and the
// conversation alive.
func TestAScreenWithToolsElsewhere(t *testing.T) {
	server := scripted(t, &script.Scenario{Turns: []script.Turn{
		callOf("mcp__toolhost__Bash", `{"command":"touch made"}`), {Blocks: []script.Block{{Text: "It is made."}}},
		callOf("mcp__toolhost__Bash", `{"command":"sleep 1000"}`),
		callOf("mcp__toolhost__Bash", `{"command":"sleep 1001"}`), {Blocks: []script.Block{{Text: "I do not know."}}},
		callOf("mcp__toolhost__Read", `{"file_path":"a.txt"}`), {Blocks: []script.Block{{Text: "It is back."}}},
	}})
	e := newElsewhere(t, haftFolder(t), `{"permissions":{"allow":["Bash(sleep:*)"]}}`, server)
	s := &seat{t: t, dir: e.here, home: filepath.Dir(e.here), url: server.URL(), env: e.env}
	s.start("--tools-on", e.address)
	s.see("tools on 127.0.0.1")

	s.type_("make it\r")
	s.see("On 127.0.0.1: ")
	s.turnTo()
	s.type_("1\r") // allow
	s.see("▸ Send this to toolhost:")
	s.choose("2") // yes
	s.see("It is made.")
	if _, err := os.Stat(filepath.Join(e.dir, "made")); err != nil {
		t.Error(err)
	}

	s.type_("wait\r")
	s.until("see the command run there", func() bool { return len(programsIn(t, e.dir, "sleep\x001000")) > 0 })
	s.type_("\x1b")
	s.see("Interrupted. What should haft do instead?")
	s.until("see it end there", func() bool { return len(programsIn(t, e.dir, "sleep\x001000")) == 0 })

	s.type_("wait again\r")
	s.until("see the command run there", func() bool { return len(programsIn(t, e.dir, "sleep\x001001")) > 0 })
	for _, pid := range programsIn(t, e.dir, "mcp\x00serve") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	s.see("I do not know.")
	s.type_("look\r")
	s.see("It is back.")
	told := slices.ContainsFunc(requestsOf(t, server), func(a asking) bool {
		return strings.Contains(strings.Join(a.results, ""), "It is unknown whether the call took effect; check before you repeat it.")
	})
	if !told {
		t.Error("the model was not told that the outcome of a call is unknown")
	}
	s.leave()
}

// programsIn are the processes in a folder whose arguments have a text.
func programsIn(t *testing.T, dir, text string) (pids []int) {
	t.Helper()
	for pid, said := range processesIn(t, dir) {
		if strings.Contains(said, text) {
			pids = append(pids, pid)
		}
	}
	return pids
}
