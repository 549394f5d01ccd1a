// Command start measures how long a person waits for a prompt: from the start of a
// program on a pseudo-terminal until a character that is typed appears.
//
//	go build -o /tmp/haft ./cmd/haft
//	go run -C bench ./start -n 20 /tmp/haft /path/to/claude
//
// Programs take turns, so that a busy machine is busy for all of them. Each gets a
// home folder of its own that says that it was set up before.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/creack/pty"
)

func main() {
	n := flag.Int("n", 20, "starts of each program")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "name the programs to start")
		os.Exit(2)
	}
	took := make(map[string][]time.Duration)
	for range *n {
		for _, exe := range flag.Args() {
			d, err := start(exe)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", exe, err)
				os.Exit(1)
			}
			took[exe] = append(took[exe], d)
		}
	}
	for _, exe := range flag.Args() {
		slices.Sort(took[exe])
		fmt.Printf("%-10s least %v, median %v, most %v\n", filepath.Base(exe), round(took[exe][0]), round(took[exe][len(took[exe])/2]), round(took[exe][len(took[exe])-1]))
	}
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

// start runs a program until what is typed is shown.
func start(exe string) (time.Duration, error) {
	home, err := os.MkdirTemp("", "start-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(home)
	project := filepath.Join(home, "project")
	if err := settle(home, project); err != nil {
		return 0, err
	}
	cmd := exec.Command(exe)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "ANTHROPIC_API_KEY=" + key, "ANTHROPIC_BASE_URL=http://127.0.0.1:9", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	begin := time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		return 0, err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait(); tty.Close() }()
	return echoed(tty, begin)
}

// echoed types a character that no screen has, again and again, until it is shown:
// that is when a person can begin to write.
func echoed(tty *os.File, begin time.Time) (time.Duration, error) {
	const mark = "\u03de"
	shown := make(chan time.Time, 1)
	go func() {
		var seen []byte
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			seen = append(seen, buf[:n]...)
			// The terminal itself echoes until the program has taken it over; a
			// program that draws says so with an escape first.
			if at := bytes.Index(seen, []byte("\x1b[?2004h")); at >= 0 && bytes.Contains(seen[at:], []byte(mark)) {
				shown <- time.Now()
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for end := time.After(20 * time.Second); ; {
		select {
		case t := <-shown:
			return t.Sub(begin), nil
		case <-end:
			return 0, fmt.Errorf("no prompt within 20 s")
		case <-time.After(5 * time.Millisecond):
			if _, err := tty.WriteString(mark); err != nil {
				return 0, err
			}
		}
	}
}

// key is one that nobody accepts; no request is made with it.
const key = "sk-ant-start-000000000000000000000000"

// settle writes what says that the program was started here before.
func settle(home, project string) error {
	if err := os.MkdirAll(project, 0o755); err != nil {
		return err
	}
	config := fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark","numStartups":5,"customApiKeyResponses":{"approved":[%q],"rejected":[]},"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`, key[len(key)-20:], project)
	return os.WriteFile(filepath.Join(home, ".claude.json"), []byte(config), 0o600)
}
