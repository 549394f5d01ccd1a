package bash

import (
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
)

// answers are exit codes that answer a question rather than report a failure.
var answers = []struct {
	command string // with its subcommand, if it is one that has them
	with    string // a word that must be among the arguments, "" for none
	code    int
	meaning string
}{
	{"grep", "", 1, "No matches found"},
	{"egrep", "", 1, "No matches found"},
	{"fgrep", "", 1, "No matches found"},
	{"zgrep", "", 1, "No matches found"},
	{"rg", "", 1, "No matches found"},
	{"ag", "", 1, "No matches found"},
	{"ack", "", 1, "No matches found"},
	{"git grep", "", 1, "No matches found"},
	{"pgrep", "", 1, "No processes matched"},
	{"diff", "", 1, "Files differ"},
	{"cmp", "", 1, "Files differ"},
	{"git diff", "--exit-code", 1, "There are differences"},
	{"git diff", "--quiet", 1, "There are differences"},
	{"git diff", "--no-index", 1, "There are differences"},
	{"git diff-index", "--exit-code", 1, "There are differences"},
	{"git diff-index", "--quiet", 1, "There are differences"},
	{"git merge-base", "--is-ancestor", 1, "It is not an ancestor"},
	{"git check-ignore", "", 1, "None of the paths is ignored"},
	{"find", "", 1, "Some directories were inaccessible"},
	{"test", "", 1, "Condition is false"},
	{"[", "", 1, "Condition is false"},
	{"[[", "", 1, "Condition is false"},
	{"which", "", 1, "Not found"},
	{"type", "", 1, "Not found"},
	{"command", "-v", 1, "Not found"},
	{"expr", "", 1, "The value is empty or zero"},
	{"systemctl is-active", "", 3, "The unit is not active"},
	{"systemctl is-enabled", "", 1, "The unit is not enabled"},
	{"jq", "-e", 1, "The last output was false or null"},
	{"jq", "-e", 4, "There was no output"},
	{"mountpoint", "", 1, "It is not a mount point"},
	{"mountpoint", "", 32, "It is not a mount point"},
}

// shellComplaint is a line by which bash itself reports a failure.
var shellComplaint = lazyregexp.New(`(?m)^bash: `)

// meaning returns what an exit code of the command answers, "" if it is a
// failure like any.
func (s simple) meaning(code int, output string) string {
	if len(s.words) == 0 || shellComplaint.MatchString(output) {
		return ""
	}
	name := s.name()
	if name == "find" && !onlyDenied(s.words, output) {
		return ""
	}
	for _, a := range answers {
		if a.command == name && a.code == code && (a.with == "" || slices.Contains(s.words[1:], a.with)) {
			return a.meaning
		}
	}
	return ""
}

// name is the command, with its subcommand if it is one that has them.
func (s simple) name() string {
	name := path.Base(s.words[0])
	if name != "git" && name != "systemctl" {
		return name
	}
	for i := 1; i < len(s.words); i++ {
		switch word := s.words[i]; {
		case word == "-C" || word == "-c":
			i++ // their value
		case !strings.HasPrefix(word, "-"):
			return name + " " + word
		}
	}
	return name
}

// onlyDenied reports whether all that find complains of, and it does, is a want
// of permission; a command that find runs may have failed without a word.
func onlyDenied(words []string, output string) bool {
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") }) {
		return false
	}
	denied := false
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "find: ") {
			if !strings.HasSuffix(strings.TrimSpace(line), "Permission denied") {
				return false
			}
			denied = true
		}
	}
	return denied
}

// silentCommands write nothing when all is well.
var silentCommands = strings.Fields(`
	cd mkdir rmdir mv cp rm touch ln chmod chown install export unset set
	true : sleep kill wait test [ [[
`)

func (s simple) silent() bool {
	return len(s.words) > 0 && slices.Contains(silentCommands, path.Base(s.words[0]))
}
