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
// its aliases are known when it is read. One too long for an argument goes into
// file.
func shellArgs(prelude, command, file string) ([]string, error) {
	if len(command) <= maxArg {
		return []string{"bash", "-c", prelude + `__haft=$1; set --; eval "$__haft"`, "bash", command}, nil
	}
	if err := os.WriteFile(file, []byte(command), 0o600); err != nil {
		return nil, fmt.Errorf("keep a long command: %w", err)
	}
	return []string{"bash", "-c", prelude + ". " + quote(file), "bash"}, nil
}

// prelude is what the shell does before a command that starts in dir: it loads
// the profile and the env file, and sets a trap that tells the directory it
// ended in, if that is another, in dirFile. The trap runs however the command
// ends; a command that sets its own exit trap, or replaces the shell, keeps its
// directory to itself.
func prelude(profile, envFile, dir, dirFile string) string {
	var b strings.Builder // one line, so that bash counts the lines of the command from 1
	if profile != "" {
		b.WriteString(". " + quote(profile) + " 2>/dev/null; ")
	}
	if envFile != "" {
		b.WriteString("[ -r " + quote(envFile) + " ] && . " + quote(envFile) + "; ")
	}
	b.WriteString("trap " + quote("[[ $PWD == "+quote(dir)+" ]] || builtin pwd -P 2>/dev/null >|"+quote(dirFile)) + " EXIT; ")
	return b.String()
}

// quote makes s one word of shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
