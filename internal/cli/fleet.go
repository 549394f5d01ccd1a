package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/text/lang"
)

// newFleet runs the command of the fleet, which is a separate program: haft contains
// nothing of it.
func newFleet(s Streams) *cobra.Command {
	return &cobra.Command{
		Use: "fleet", Short: message("Run sessions on many machines, with haft-fleet"), DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := findFleet()
			if err != nil && len(args) > 0 && (args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
				_, err = fmt.Fprintf(s.folded(), "%s.\n\nhaft-fleet is a program of its own. To build it from a checkout: cd fleet && go build -o DIR ./cmd/haft-fleet, where DIR is the folder that haft is in. 'haft help fleet' is the guide.\n", s.words().T(lang.Text(c.Short)))
				return err
			}
			if err != nil {
				return err
			}
			cmd := exec.CommandContext(c.Context(), path, withoutLanguage(args)...)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // a worker hands back what it leads
			cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
			var exit *exec.ExitError
			if err := cmd.Run(); errors.As(err, &exit) {
				return codeError(max(exit.ExitCode(), 1))
			} else if err != nil {
				return fmt.Errorf("could not run %s: %w", path, err)
			}
			return nil
		},
	}
}

// withoutLanguage leaves out --lang, which is haft's own: the flags of this command are not
// parsed.
func withoutLanguage(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return append(out, args[i:]...)
		case args[i] == "--lang":
			i++
		case !strings.HasPrefix(args[i], "--lang="):
			out = append(out, args[i])
		}
	}
	return out
}

// findFleet returns the program beside this one, or in the PATH.
func findFleet() (string, error) {
	name := "haft-fleet"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", errors.New("could not find haft-fleet next to haft or on the PATH. Build it from a checkout: cd fleet && go build -o DIR ./cmd/haft-fleet, where DIR is the folder that haft is in")
}
