package tool

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mentioning returns describe without what it says about tools that are not in the set: a
// model that is told to use one would waste a call. Texts use the exact names of tools, so
// that this can be checked word by word.
func (s *Set) mentioning(describe func(*Session) string) func(*Session) string {
	return func(session *Session) string {
		text := describe(session)
		if len(s.absent) == 0 || !s.namesAbsent(text) {
			return text
		}
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			kept := s.keepPresent(line)
			if kept == "" && line != "" {
				continue
			}
			lines = append(lines, kept)
		}
		return strings.Join(lines, "\n")
	}
}

// keepPresent drops the sentences of a line, and the clauses after a semicolon, that name a
// missing tool.
func (s *Set) keepPresent(line string) string {
	if !s.namesAbsent(line) {
		return line
	}
	var sentences []string
	for _, sentence := range sentencesOf(line) {
		body, end := strings.TrimRight(sentence, ".:"), ""
		end = sentence[len(body):]
		var clauses []string
		for i, clause := range strings.Split(body, "; ") {
			if s.namesAbsent(clause) {
				if i == 0 {
					break // the rest hangs on it
				}
				continue
			}
			clauses = append(clauses, clause)
		}
		if len(clauses) > 0 {
			sentences = append(sentences, strings.Join(clauses, "; ")+end)
		}
	}
	kept := strings.Join(sentences, " ")
	if strings.HasPrefix(line, "- ") && kept != "" && !strings.HasPrefix(kept, "- ") {
		kept = "- " + kept
	}
	return kept
}

// sentencesOf splits at full stops that are followed by a blank and a capital letter or a
// quotation mark.
func sentencesOf(line string) (sentences []string) {
	from := 0
	for i := 0; i+2 < len(line); i++ {
		if line[i] != '.' || line[i+1] != ' ' {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(line[i+2:]); unicode.IsUpper(r) || r == '`' || r == '"' {
			sentences, from = append(sentences, line[from:i+1]), i+2
		}
	}
	return append(sentences, line[from:])
}

// namesAbsent reports whether a text names a tool that is not there.
func (s *Set) namesAbsent(text string) bool {
	from := -1 // where a word began
	for i, r := range text {
		inWord := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > unicode.MaxASCII && unicode.IsLetter(r) || unicode.IsDigit(r)
		switch {
		case inWord && from < 0:
			from = i
		case !inWord && from >= 0:
			if s.absent[text[from:i]] {
				return true
			}
			from = -1
		}
	}
	return from >= 0 && s.absent[text[from:]]
}
