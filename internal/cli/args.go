package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/front/headless/launch"
	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// forProgram reports whether a program started haft to speak stream-json with it. What is
// behind -- are flags for another haft, as in haft connect.
func forProgram(args []string) bool {
	for i, a := range args {
		if a == "--" {
			return false
		}
		if a == "--input-format=stream-json" || a == "--input-format" && i+1 < len(args) && args[i+1] == "stream-json" {
			return true
		}
	}
	return false
}

// normalize lets --resume stand without a value: then the user chooses. Flags for
// lists take all the words that follow and can be of the list; an address that follows
// --http and a word that follows a flag that can stand alone, such as --debug, are their values.
func normalize(args []string) []string {
	args = spread(args)
	for i, a := range args {
		if a == "--" {
			break
		}
		if a == "--http" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			args = slices.Replace(args, i, i+2, a+"="+args[i+1])
			break
		}
	}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		a := args[i]
		if name := optionalValues[a]; name != "" && i+1 < len(args) && oneWord.MatchString(args[i+1]) {
			args = slices.Replace(args, i, i+2, name+"="+args[i+1])
		}
	}
	for i, a := range args {
		if (a == "--resume" || a == "-r") && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			args[i] = "--resume="
		}
	}
	return args
}

// lists are the flags that take more than one word, with what such a word looks like.
var lists = map[string]func(string) bool{
	"--allowedTools": areRules, "--allowed-tools": areRules, "--disallowedTools": areRules, "--disallowed-tools": areRules,
	"--tools": areRules, "--add-dir": isFolder, "--mcp-config": isConfig, "--betas": beta.MatchString, "--file": file.MatchString,
}

// optionalValues are the flags that can stand alone, or take the word that follows.
var optionalValues = map[string]string{
	"--debug": "--debug", "-d": "--debug", "--worktree": "--worktree", "-w": "--worktree",
	"--cloud": "--cloud", "--from-pr": "--from-pr", "--prompt-suggestions": "--prompt-suggestions", "--remote-control": "--remote-control", "--teleport": "--teleport",
}

var (
	// oneWord reports whether a word can be the value of a flag with an optional value. A
	// prompt has blanks.
	oneWord = lazyregexp.New(`^[^\s-]\S*$`)
	// beta is the name of a feature, which ends in a date.
	beta = lazyregexp.New(`^[a-z0-9-]+-\d{4}-\d{2}-\d{2}$`)
	// file is the id of a file and where to put it.
	file = lazyregexp.New(`^\w+:\S+$`)
)

// isConfig reports whether a word is a configuration, or the file of one. A file that is
// missing is not taken for the prompt.
func isConfig(word string) bool {
	if strings.HasPrefix(strings.TrimSpace(word), "{") || oneWord.MatchString(word) && strings.HasSuffix(word, ".json") {
		return true
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}

// spread repeats the flag for each word of a list.
func spread(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(out, args[i:]...)
		}
		out = append(out, args[i])
		fits := lists[args[i]]
		if fits == nil || i+1 == len(args) {
			continue
		}
		flag := args[i]
		i++
		out = append(out, args[i])
		for i+1 < len(args) && fits(args[i+1]) {
			i++
			out = append(out, flag+"="+args[i])
		}
	}
	return out
}

// areRules reports whether a word is rules for tools, and not the prompt.
func areRules(word string) bool {
	rules := launch.SplitRules([]string{word})
	for _, rule := range rules {
		name, _, _ := strings.Cut(rule, "(")
		if !strings.HasPrefix(name, "mcp__") && (name == "" || name[0] < 'A' || name[0] > 'Z') {
			return false
		}
	}
	return len(rules) > 0
}

func isFolder(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.IsDir()
}
