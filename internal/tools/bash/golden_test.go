package bash_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/haftdev/haft/internal/test/golden"
	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/tools/bash"
)

// TestResultsRead pins every way in which a result of the tools reads to the
// model.
func TestResultsRead(t *testing.T) {
	needtest.Need(t, "diff")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil, &bash.Options{Dir: dir, EndAtLimit: true, MaxTimeout: 2 * time.Minute})
	cases := []struct{ title, tool, input string }{
		{"output", "Bash", `{"command":"echo out; echo err >&2"}`},
		{"no output", "Bash", `{"command":"true"}`},
		{"a failure", "Bash", `{"command":"echo before; ls /no/such; exit 3"}`},
		{"a failure without output", "Bash", `{"command":"false"}`},
		{"an unknown command", "Bash", `{"command":"no-such-command"}`},
		{"grep without matches", "Bash", `{"command":"echo a | grep b"}`},
		{"grep with a real failure", "Bash", `{"command":"grep a /no/such"}`},
		{"a failed cd before grep", "Bash", `{"command":"cd /no/such && grep a file"}`},
		{"a cd before grep", "Bash", `{"command":"cd / && grep no-such-user /etc/passwd"}`},
		{"files that differ", "Bash", `{"command":"diff <(echo a) <(echo b)"}`},
		{"a false condition", "Bash", `{"command":"[ -e /no/such ]"}`},
		{"a killed command", "Bash", `{"command":"kill -9 $$"}`},
		{"a changed directory", "Bash", `{"command":"cd /usr"}`},
		{"a directory that is gone at the end", "Bash", `{"command":"mkdir ` + dir + `/lost; cd ` + dir + `/lost; rmdir ` + dir + `/lost"}`},
		{"into a directory", "Bash", `{"command":"mkdir ` + dir + `/lost; cd ` + dir + `/lost"}`},
		{"without it", "Bash", `{"command":"rmdir ` + dir + `/lost"}`},
		{"after a lost directory", "Bash", `{"command":"pwd"}`},
		{"left processes", "Bash", `{"command":"sleep 600 & sleep 600 & echo started"}`},
		{"a timeout", "Bash", `{"command":"echo before; sleep 600","timeout":200}`},
		{"a timeout over the limit", "Bash", `{"command":"true","timeout":999999999}`},
		{"sudo", "Bash", `{"command":"echo 'sudo: a terminal is required to read the password' >&2; exit 1"}`},
		{"git credentials", "Bash", `{"command":"echo \"fatal: could not read Username for 'https://x': terminal prompts disabled\"; exit 128"}`},
		{"ssh", "Bash", `{"command":"echo 'Host key verification failed.'; exit 255"}`},
		{"gpg", "Bash", `{"command":"echo 'error: gpg failed to sign the data'; exit 128"}`},
		{"a terminal", "Bash", `{"command":"echo 'the input device is not a TTY'; exit 1"}`},
		{"a long output", "Bash", `{"command":"seq 100000"}`},
		{"a long output that fails", "Bash", `{"command":"seq 100000; echo last words >&2; exit 9"}`},
		{"a background command", "Bash", `{"command":"echo up; sleep 600","run_in_background":true}`},
		{"an unknown id", "BashOutput", `{"bash_id":"nope"}`},
		{"a bad filter", "BashOutput", `{"bash_id":"nope","filter":"("}`},
		{"an unknown id to end", "KillShell", `{"shell_id":"nope"}`},
	}
	var b strings.Builder
	for _, c := range cases {
		text := ""
		result, err := r.call(t.Context(), c.tool, "", c.input)
		switch {
		case err != nil:
			text = "error: " + err.Error()
		case result.Failed:
			text = "failed: " + result.Text()
		default:
			text = "ok: " + result.Text()
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n", c.title, steady(text, dir))
	}
	golden.Check(t, "testdata/results.golden", b.String())
}

// steady replaces what differs from run to run.
func steady(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "DIR")
	text = regexp.MustCompile(`\bb[a-z2-7]{8}\b`).ReplaceAllString(text, "ID")
	text = regexp.MustCompile(`/\S*/haft-run-\d+/`).ReplaceAllString(text, "SPOOL/")
	text = regexp.MustCompile(`after [0-9.]+m?s`).ReplaceAllString(text, "after TIME")
	if len(text) > 3000 {
		text = text[:1200] + "\n…\n" + text[len(text)-600:]
	}
	return text
}
