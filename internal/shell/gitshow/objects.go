package gitshow

import (
	"strings"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// A word that git takes may name a folder or a file of some revision instead of a commit. Then
// names in a list begin at that folder, or the file is printed without any name. Which it is
// only git can tell: it is asked for the kinds of all that the words may name.

// A lookup is a question about an object.
type lookup struct {
	name string // as git takes it
	// path is what follows the revision in "revision:path"; named says that something does.
	path  string
	named bool
	root  bool // it is the revision in front of a path
}

// KindFormat is the format of the kinds for [Query.Resolve].
const KindFormat = "%(objecttype) %(objectsize)"

// lookupsOf returns what to ask about words that may be revisions, or two with dots between.
func lookupsOf(words []string) (out []lookup) {
	for _, word := range words {
		word = strings.TrimPrefix(word, "^")
		parts := []string{word}
		if from, to, ok := strings.Cut(word, ".."); ok {
			parts = append(parts, from, strings.TrimPrefix(to, "."))
		}
		for _, part := range parts {
			revision, path, named := splitPath(part)
			switch {
			case part == "" || commit.MatchString(part):
			case named:
				out = append(out, lookup{name: part, path: path, named: true})
				if revision != "" && !commit.MatchString(revision) {
					out = append(out, lookup{name: peeled(revision), root: true})
				}
			default:
				out = append(out, lookup{name: peeled(part)})
			}
		}
	}
	return out
}

// commit is a name of the current commit or one before it, which is nothing else.
var commit = lazyregexp.New(`^(HEAD|@)([~^][0-9]*)*$`)

// peeled names what a revision leads to: a tag may lead to a file, and the folder of a commit
// is the top one.
func peeled(revision string) string { return strings.TrimSuffix(revision, "^{tree}") + "^{}" }

// splitPath splits "revision:path" at the colon where git does. A path alone is one of the
// index.
func splitPath(word string) (revision, path string, named bool) {
	if rest, index := strings.CutPrefix(word, ":"); index {
		if rest == "" || strings.ContainsRune("/(!^", rune(rest[0])) {
			return "", "", false // the text of a commit, or a pattern of paths
		}
		if len(rest) > 1 && rest[0] >= '0' && rest[0] <= '3' && rest[1] == ':' {
			rest = rest[2:]
		}
		return "", rest, true
	}
	depth := 0
	for i, c := range word {
		switch {
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == ':' && depth == 0 && i > 0:
			return word[:i], word[i+1:], true
		}
	}
	return "", "", false
}
