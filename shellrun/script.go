package shellrun

import (
	"fmt"
	"os"
	"strings"
)

// maxArg is below what Linux takes as one argument (128 KB with its
// terminator).
const maxArg = 120 << 10

// shellArgs makes the arguments of the shell for a command. The command is an
// argument of its own and is run by eval, so that its text needs no quoting and
// its aliases are known when it is read. One too long for an argument goes by
// file.
func shellArgs(prelude, command, file string) ([]string, error) {
	const evaluate = `; set --; eval "$__haft"`
	if len(command) <= maxArg {
		return []string{"bash", "-c", prelude + "__haft=$1" + evaluate, "bash", command}, nil
	}
	if err := os.WriteFile(file, []byte(command), 0o600); err != nil {
		return nil, fmt.Errorf("keep a long command: %w", err)
	}
	return []string{"bash", "-c", prelude + "__haft=$(<" + quote(file) + ")" + evaluate, "bash"}, nil
}

// prelude is what the shell does before a command that starts in dir: it loads
// the profile and the env file, and sets a trap that tells the directory it
// ended in, if that is another, in dirFile. The trap runs however the command
// ends; a command that sets its own exit trap, or replaces the shell, keeps its
// directory to itself.
func prelude(profile, envFile, dir, dirFile string) string {
	var b strings.Builder // one line, so that bash counts the lines of the command from 1
	b.WriteString(hungry)
	if profile != "" {
		b.WriteString(". " + quote(profile) + " 2>/dev/null; ")
	}
	if envFile != "" {
		b.WriteString("if [ -r " + quote(envFile) + " ]; then " + source(envFile, dir) + "fi; ")
	}
	b.WriteString("trap " + quote("[[ $PWD == "+quote(dir)+" ]] || builtin pwd -P 2>/dev/null >|"+quote(dirFile)) + " EXIT; ")
	return b.String()
}

// hungry makes the kernel end a command that takes all the memory before anything else,
// haft included. Where it cannot be written, nothing is different.
const hungry = "builtin echo 500 2>/dev/null >/proc/self/oom_score_adj || :; "

// source loads an env file. One that ends the shell must not look like a command
// that ran, and one that changes the directory changes it for itself.
func source(envFile, dir string) string {
	ended := "haft: the command did not run: the env file " + envFile + " ended the shell"
	return "trap " + quote("builtin echo "+quote(ended)+" >&2; builtin exit 126") + " EXIT; " +
		". " + quote(envFile) + "; " +
		"[[ $PWD == " + quote(dir) + " ]] || builtin cd -- " + quote(dir) + "; "
}

// quote makes s one word of shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
