package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/model/script"
)

// TestFirstHour walks the guide for newcomers: each command in it is run, in one shell and
// a new home, and prints what the guide says it prints. -update records it again.
func TestFirstHour(t *testing.T) {
	const guide = "../../docs/first-hour.md"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	h := newHour(t, string(text))
	parts := console.Split(string(text), -1)
	blocks := console.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 8 {
		t.Fatalf("the guide has only %d recordings", len(blocks))
	}
	var commands []string
	for _, block := range blocks {
		for _, m := range prompt.FindAllStringSubmatch(block[1], -1) {
			commands = append(commands, m[1])
		}
	}
	outputs := h.run(commands)
	var b strings.Builder
	for i, block := range blocks {
		b.WriteString(parts[i] + "```console\n")
		for _, m := range prompt.FindAllStringSubmatch(block[1], -1) {
			fmt.Fprintf(&b, "$ %s\n%s", m[1], outputs[0])
			outputs = outputs[1:]
		}
		b.WriteString("```\n")
	}
	got := b.String() + parts[len(parts)-1]
	if golden.Updating() {
		if err := os.WriteFile(guide, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(sameEverywhere(string(text)), sameEverywhere(got)); d != "" {
		t.Errorf("docs/first-hour.md (-want +got), record it again with -update if the change is meant:\n%s", d)
	}
}

var (
	console = regexp.MustCompile("(?s)```console\n(.*?)```\n")
	shBlock = regexp.MustCompile("(?s)```sh\n(.*?)```\n")
	prompt  = regexp.MustCompile(`(?m)^\$ (.*)$`)
)

// An hour is a newcomer's machine: a home, a project and a model.
type hour struct {
	t         *testing.T
	home, url string
}

func newHour(t *testing.T, guide string) *hour {
	needtest.Need(t, needtest.Overlay)
	s := newStage(t)
	setUp := exec.Command(needtest.Program(t, "bash"), "-ec", shBlock.FindStringSubmatch(guide)[1])
	setUp.Dir = s.home
	if out, err := setUp.CombinedOutput(); err != nil {
		t.Fatalf("make the folder of the recording: %v: %s", err, out)
	}
	text, err := os.ReadFile("testdata/firsthour.json")
	if err != nil {
		t.Fatal(err)
	}
	var model script.Scenario
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatal(err)
	}
	return &hour{t, s.home, scripted(t, &model).URL()}
}

// run types commands into one shell and returns what each of them prints.
func (h *hour) run(commands []string) []string {
	haft, temp := haftCommand(h.t), h.t.TempDir()
	const mark = "\x01"
	input := "exec 2>&1\n"
	for _, c := range commands {
		if strings.HasPrefix(c, "export ANTHROPIC_API_KEY=") { // the key is for the scripted model
			input += "export ANTHROPIC_BASE_URL=" + h.url + "\n"
		}
		input += "{ " + c + "\n} </dev/null\nprintf '\\001'\n"
	}
	bash := exec.Command(needtest.Program(h.t, "bash"), "--norc", "-s")
	bash.Dir, bash.Stdin = filepath.Join(h.home, "hello"), strings.NewReader(input)
	bash.Env = bareEnv(h.home, "PATH="+filepath.Dir(haft)+":"+os.Getenv("PATH"), "GOCACHE="+goCache(), "IS_SANDBOX=1", "TMPDIR="+temp)
	out, err := bash.Output()
	if err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	outputs := strings.Split(string(out), mark)
	if len(outputs) != len(commands)+1 {
		h.t.Fatalf("%d commands printed %d outputs: %s", len(commands), len(outputs)-1, out)
	}
	for i, o := range outputs {
		o = strings.ReplaceAll(o, h.home, "/home/ada")
		o = strings.ReplaceAll(o, temp, "/tmp")
		o = strings.ReplaceAll(o, h.url, "https://api.anthropic.com")
		if o != "" && !strings.HasSuffix(o, "\n") {
			o += "\n"
		}
		outputs[i] = o
	}
	return outputs
}

// sameEverywhere takes out what differs by machine and run.
func sameEverywhere(text string) string {
	text = variesWhole.ReplaceAllString(text, "")
	return variesInPart.ReplaceAllString(text, "…")
}

var (
	// Lines about the machine, and a notice that may come before or after the question.
	variesWhole = regexp.MustCompile(`(?m)^([✓!] (kernel|system|sandbox|programs|search): .*\n(  → .*\n|    .*\n)*|.* is waiting for an answer\n)`)
	// Names of temporary folders, addresses, dates, times, ids and the version.
	variesInPart = regexp.MustCompile(`haft-demo-\d+|http://127\.0\.0\.1:\d+|\d+(\.\d+)?(µs|ms|s)\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|haft v?\d\S* in|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
)
