package shellrun

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A profile is what the user's interactive shell knows: functions, aliases and
// PATH. It is captured once, since start-up files can take seconds, and loaded
// from one file by every command.
type profile struct {
	path string // the file to source, "" if there is nothing in it
	PATH string // with what the start-up files add
}

// askers are aliases that make a command ask before it acts: without a terminal
// the answer is no, and the command does nothing.
var askers = lazyregexp.New(`(?m)^alias (?:rm|cp|mv|ln)='[^'\n]*'\n?`)

func (p profile) keep(dumped, dir string) (profile, error) {
	path, rest, ok := strings.Cut(dumped, "\n")
	if !ok {
		return p, nil
	}
	p.PATH = mergePaths(p.PATH, path)
	body := definitions(rest)
	if strings.TrimSpace(body) == "" {
		return p, nil
	}
	file := filepath.Join(dir, "profile.sh")
	body = "shopt -s expand_aliases extglob\n" + body + "shopt -u extglob\n" // functions may need it to be read
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		return p, fmt.Errorf("save the shell profile: %w", err)
	}
	p.path = file
	return p, nil
}

// definitions returns what is worth loading: not the thousands of lines that
// completion at a prompt needs.
func definitions(records string) string {
	var b strings.Builder
	for record := range strings.SplitSeq(records, "\x1e") {
		origin, text, _ := strings.Cut(record, "\n")
		if !completes(origin) {
			b.WriteString(text)
		}
	}
	return askers.ReplaceAllString(b.String(), "")
}

// completes reports whether a function, given as "name line file", is for
// completion at a prompt, as its file tells.
func completes(origin string) bool {
	_, origin, _ = strings.Cut(origin, " ")
	_, file, _ := strings.Cut(origin, " ")
	name, dir := filepath.Base(file), filepath.Base(filepath.Dir(file))
	return strings.Contains(name, "completion") || dir == "completions" || dir == "bash_completion.d"
}

// mergePaths adds to first what only second has. The harness's own PATH leads:
// it may be that of an activated environment, which start-up files know nothing
// of.
func mergePaths(first, second string) string {
	paths := filepath.SplitList(first)
	for _, path := range filepath.SplitList(second) {
		if path != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return strings.Join(paths, string(filepath.ListSeparator))
}
