package toolsearch

import (
	"slices"
	"strings"
	"unicode"
)

// A term is a word that is looked for.
type term struct {
	word     string
	required bool
	others   []string // words that mean the same
}

// terms reads a query. Words that are in every sentence count only if there are
// no others, or if they are required.
func terms(query string) []term {
	var all, telling []term
	for field := range strings.FieldsSeq(query) {
		text, required := strings.CutPrefix(field, "+")
		for _, w := range words(text) {
			t := term{word: stem(w), required: required, others: others(stem(w))}
			all = append(all, t)
			if required || !strings.Contains(filler, " "+w+" ") {
				telling = append(telling, t)
			}
		}
	}
	if len(telling) > 0 {
		return telling
	}
	return all
}

// filler are words that say nothing about a tool.
const filler = " a an and any are as at be by can do does for from get has have how i in into is it its let like me my need of on or our please " +
	"some somebody someone that the their them then there these they this to tool tools use using want was we what when where which why will with would you your "

// alikes are words by which people and servers mean the same.
var alikes = []string{
	"create add new open make file post insert upload write",
	"send post message mail",
	"delete remove drop clear cancel destroy erase",
	"update edit change modify set rename close mark turn rotate mute",
	"list show all browse",
	"read get show view fetch retrieve",
	"search find look query",
	"run execute exec call",
	"schedule plan book",
	"email mail",
	"sms text",
	"picture image photo",
	"share permission access",
	"repo repository",
	"k8s kubernetes",
	"db database",
	"doc document documentation",
	"pr pull request",
	"mr merge request",
}

// others returns the stems of words that mean the same as one.
func others(word string) (same []string) {
	for _, group := range alikes {
		members := strings.Fields(group)
		for i, w := range members {
			members[i] = stem(w)
		}
		if i := slices.Index(members, word); i >= 0 {
			same = append(same, slices.Delete(members, i, i+1)...)
		}
	}
	return same
}

// stem takes the endings away that English puts on words. It need not be right, only
// the same for all forms of a word.
func stem(w string) string {
	for _, end := range []struct{ from, to string }{
		{"ies", "y"}, {"sses", "ss"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"ss", "ss"}, {"us", "us"}, {"is", "is"}, {"s", ""},
		{"ing", ""}, {"ed", ""},
	} {
		if base, ok := strings.CutSuffix(w, end.from); ok {
			if len(base)+len(end.to) < 3 || end.from == end.to {
				return trimE(w)
			}
			return trimE(base + end.to)
		}
	}
	return trimE(w)
}

// trimE makes delete and deleting the same.
func trimE(w string) string {
	if len(w) > 4 {
		return strings.TrimSuffix(w, "e")
	}
	return w
}

// words splits text, and names such as mcp__github__listIssues, into lower-case words.
func words(s string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return out
}
