package tool

import (
	"unicode"
	"unicode/utf8"
)

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
