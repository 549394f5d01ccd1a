package gitconfig

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Harmless reports whether new settings of a repository differ from the old ones only in what makes git
// neither run a program nor send anything elsewhere than before: branches and what they track,
// remotes that are new, who the author is. Settings that git may read in another way than [Parse]
// are not harmless: each new line must be of the plainest form.
func Harmless(before, after string) bool {
	if strings.Contains(before+after, "\\\n") || strings.Contains(after, "\r") {
		return false
	}
	old := map[string]int{}
	for line := range strings.Lines(before) {
		old[strings.TrimSpace(line)]++
	}
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); old[line] > 0 {
			old[line]--
		} else if line != "" && !plainLine().MatchString(line) {
			return false
		}
	}
	was, err := Parse(before)
	if err != nil {
		return false
	}
	is, err := Parse(after)
	if err != nil {
		return false
	}
	known, remotes := remotesIn(was), remotesIn(is) // what a remote is stays as it is
	for _, e := range is {
		if i := slices.Index(was, e); i >= 0 {
			was = slices.Delete(was, i, i+1)
		} else if !addable(e, remotes) || known[remoteOf(e.Key)] && !isUsualFetch(e) {
			return false
		}
	}
	return !slices.ContainsFunc(was, func(gone Entry) bool { return !removable(gone) })
}

// plainLine is a line as git itself writes it.
var plainLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\[(user|core|extensions)\]|\[(branch|remote|submodule) "[\w./-]+"\]|\w+ = [\w@%+=:,./*~ -]*)$`)
})

func remotesIn(list []Entry) map[string]bool {
	names := map[string]bool{}
	for _, e := range list {
		if name := remoteOf(e.Key); name != "" {
			names[name] = true
		}
	}
	return names
}

// remoteOf returns the name of the remote that a setting is about; "" if it is about none.
func remoteOf(key string) string {
	rest, ok := strings.CutPrefix(key, "remote.")
	if i := strings.LastIndexByte(rest, '.'); ok && i > 0 {
		return rest[:i]
	}
	return ""
}

// isUsualFetch reports whether a setting is how git fetches from every new remote.
func isUsualFetch(e Entry) bool {
	name := remoteOf(e.Key)
	return e.Key == "remote."+name+".fetch" && e.Value == "+refs/heads/*:refs/remotes/"+name+"/*"
}

// addable reports whether a setting may be new.
func addable(e Entry, remotes map[string]bool) bool {
	section, name := e.Key[:max(strings.IndexByte(e.Key, '.'), 0)], e.Key[strings.LastIndexByte(e.Key, '.')+1:]
	switch section {
	case "branch":
		if name == "remote" || name == "pushremote" {
			return e.Value == "." || remotes[e.Value]
		}
		return name == "merge" || name == "rebase" || name == "description"
	case "remote":
		return name == "fetch" || name == "url" && !strings.Contains(e.Value, "::") && !strings.HasPrefix(e.Value, "-")
	case "user":
		return true
	case "core":
		return strings.HasPrefix(name, "sparsecheckout")
	case "extensions":
		return name == "worktreeconfig"
	case "submodule":
		return name == "active" || name == "url" && !strings.Contains(e.Value, "::") && !strings.HasPrefix(e.Value, "-")
	}
	return false
}

// removable reports whether nothing runs that did not because a setting is gone.
func removable(e Entry) bool {
	section := e.Key[:max(strings.IndexByte(e.Key, '.'), 0)]
	return section == "branch" || section == "user" || section == "submodule" || strings.HasPrefix(e.Key, "core.sparsecheckout") || e.Key == "extensions.worktreeconfig"
}
