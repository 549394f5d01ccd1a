//go:build unix

package harness_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/model/script"
)

// TestAStartWithManyItems starts in projects with up to 700 agents, 700 skills and 700
// commands, all of them trusted one by one. The work grows as their number does, and the
// first request does not.
func TestAStartWithManyItems(t *testing.T) {
	few, fewBytes := startWith(t, 100)
	many, manyBytes := startWith(t, 700)
	t.Logf("CPU of a start: %v with 300 items, %v with 2,100; first request: %d and %d bytes", few, many, fewBytes, manyBytes)
	if manyBytes > 100_000 {
		t.Errorf("the first request has %d bytes, want at most 100,000", manyBytes)
	}
	if raced {
		return // which takes ten times as long
	}
	if many > 500*time.Millisecond {
		t.Errorf("a start with 2,100 items takes %v of CPU, want at most half a second", many)
	}
	// 7 times as many items; what every start does is in both.
	if many > 14*few {
		t.Errorf("a start with 2,100 items takes %v of CPU and one with 300 %v, want at most 14 times as much", many, few)
	}
}

var leftOut = regexp.MustCompile(`and (\d+) more, not listed for lack of space`)

// startWith returns the CPU time of a start with n items of each kind, up to the answer to
// the first prompt, and the size of the first request.
func startWith(t *testing.T, n int) (cpu time.Duration, size int) {
	r := newRig(t)
	r.trustItems(n)
	for range 3 { // other work on the machine only adds
		r := r.with(script.Turn{Blocks: []script.Block{{Text: "hello"}}})
		before := cpuTime(t)
		c := r.talk(harness.Options{}, harness.TalkOptions{})
		r.say(c, "hi")
		if took := cpuTime(t) - before; cpu == 0 || took < cpu {
			cpu = took
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		body := string(r.server.Requests()[0].Body)
		for _, name := range []string{"- skill1", "- agent1"} {
			if !strings.Contains(body, name) {
				t.Errorf("the first request does not name %s", name)
			}
		}
		rest := 0
		if m := leftOut.FindStringSubmatch(body); m != nil {
			rest, _ = strconv.Atoi(m[1])
		}
		skills, agents := strings.Count(body, `\n- skill`), strings.Count(body, `\n- agent`)
		if skills+rest != n || agents != n || n == 700 && rest == 0 {
			t.Errorf("the first request names %d skills and says that %d more are left out, and names %d agents; there are %d of each", skills, rest, agents, n)
		}
		size = len(body)
	}
	return cpu, size
}

// trustItems writes n agents, n skills and n commands of the project, and trusts them one by one.
func (r *rig) trustItems(n int) {
	r.t.Helper()
	for i := range n {
		text := fmt.Sprintf("---\nname: %%s%d\ndescription: Does the work number %d of its kind when it is asked for\nallowed-tools: Bash(git diff:*)\n---\nDo the work %d, and say what has changed.\n", i, i, i)
		for _, kind := range []string{"agent", "command"} {
			writeFile(r.t, fmt.Sprintf("%s/.claude/%ss/%s%d.md", r.dir, kind, kind, i), fmt.Sprintf(text, kind))
		}
		writeFile(r.t, fmt.Sprintf("%s/.claude/skills/skill%d/SKILL.md", r.dir, i), fmt.Sprintf(text, "skill"))
	}
	p, err := project.Open(&project.Options{Dir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	items := p.Items()
	if len(items) != 3*n {
		r.t.Fatalf("%d items to trust, want %d", len(items), 3*n)
	}
	if err := p.Folder.Grant(context.Background(), items...); err != nil {
		r.t.Fatal(err)
	}
}

// cpuTime is what this process has used.
func cpuTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
