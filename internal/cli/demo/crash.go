package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/haftdev/haft/model/script"
)

// crashScene kills haft in the middle of a command and continues the session.
func crashScene() scene {
	return scene{
		name:   "crash",
		title:  "haft is killed in the middle of a command, and the session continues",
		intro:  "The repository is in DIR. This scene runs haft as a separate process, in order to kill it.",
		prompt: "Import the price list.",
		next:   "Sessions and rewinding:\n  haft sessions list\n  haft --continue\n  haft help sessions",
		allow:  []string{"Bash(sh import.sh)", "Edit(import.sh)"},
		ready: func() error {
			if runtime.GOOS == "windows" {
				return errors.New("this scene runs shell commands, which haft refuses on Windows")
			}
			return nil
		},
		script: crashScript,
		play:   crash,
	}
}

// started is the file that shows that the command runs.
const started = "import.started"

func crashScript(dir string) *script.Scenario {
	body := "echo 1 >> " + started + "\nsleep 300\necho 1 >> import.done\n"
	return &script.Scenario{Turns: []script.Turn{
		turn("I'll write the import and run it.",
			call("Write", in{"file_path": filepath.Join(dir, "import.sh"), "content": body})),
		turn("Now the import, which takes a while.", bash("sh import.sh", "Import the price list")),
		turn("The result says that the outcome of the import is unknown. I'll check how far it got before I run anything twice.",
			bash("wc -l < "+started+"; ls import.done", "See how far the import got")),
		turn("It started once and did not finish. Nothing was run a second time behind your back. Now I would ask you whether to run it again."),
	}}
}

// crash starts haft, kills it while the command runs, and continues the session.
func crash(ctx context.Context, o *Options, st *stage) error {
	first := o.haft(ctx, st, o.Lang.T(st.prompt))
	if err := first.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	if err := appears(ctx, filepath.Join(st.dir, started), ended); err != nil {
		_ = first.Process.Kill() // it may have ended by itself
		return err
	}
	o.print("\n── %s\n", o.Lang.T("The command runs. Now haft is killed: kill -9 %d", first.Process.Pid))
	if err := first.Process.Kill(); err != nil {
		return err
	}
	<-ended
	goOn := o.Lang.T("Go on.")
	o.print("── %s\n\n", o.Lang.T("The journal was written before each step, so the session continues: haft -p --continue %q", goOn))
	second := o.haft(ctx, st, goOn, "--continue")
	if err := second.Run(); err != nil {
		return fmt.Errorf("could not continue the session: %w", err)
	}
	told := ""
	for _, r := range st.server.Requests() {
		if r.Turn == 2 {
			told = string(r.Body)
		}
	}
	if !strings.Contains(told, "unknown") {
		return errors.New("the model was not told that the command's outcome is unknown")
	}
	return nil
}

// appears waits for a file that the program makes, as long as it runs.
func appears(ctx context.Context, file string, ended <-chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-ended:
			return fmt.Errorf("haft ended before the command had started: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
