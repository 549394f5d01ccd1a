package platform_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/sys/platform"
	"github.com/haftdev/haft/internal/test/golden"
)

func TestLinuxLacksNothing(t *testing.T) {
	if limits, ok := platform.Of("linux"); !ok || len(limits) != 0 {
		t.Errorf("%v %v", limits, ok)
	}
	if limits, ok := platform.Of("windows"); !ok || !strings.HasPrefix(string(limits[0]), "Bash") {
		t.Errorf("%v %v", limits, ok)
	}
	if _, ok := platform.Of("plan9"); ok {
		t.Error("plan9 is supported")
	}
}

func TestCIChecksWhatIsSupported(t *testing.T) {
	run, err := os.ReadFile("../../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, targets, _ := strings.Cut(string(run), "./typecheck ../../.. ")
	targets, _, _ = strings.Cut(targets, ")")
	var systems []string
	for _, target := range strings.Fields(targets) {
		if system, _, _ := strings.Cut(target, "/"); system != "linux" {
			systems = append(systems, system)
		}
	}
	if want := platform.Supported[1:]; !slices.Equal(systems, want) {
		t.Errorf(".ci/run checks %v, want %v", systems, want)
	}
}

// TestTheDocumentSaysTheSame keeps docs/platforms.md; go test -update writes it.
func TestTheDocumentSaysTheSame(t *testing.T) {
	var b strings.Builder
	b.WriteString(intro)
	for _, l := range platform.Limits {
		fmt.Fprintf(&b, "| %s |", l.Text)
		for _, system := range platform.Supported {
			if slices.Contains(l.Systems, system) {
				b.WriteString(" yes |")
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	golden.Check(t, "../../../docs/platforms.md", b.String())
}

const intro = `# Systems

haft is developed and tested on Linux. Every change is also type-checked for macOS, FreeBSD and Windows, but no tests run there.

This table lists what is missing. "yes" means that the system has the limitation. (On Windows, haft runs no shell commands, so limitations of commands do not apply there.) To list the limitations of your system, run ` + "`haft doctor`" + `.

| limitation | Linux | macOS | FreeBSD | Windows |
|---|---|---|---|---|
`
