package webfetch

import (
	"strings"
	"unicode/utf8"
)

// A part is some of a text; end counts characters from the beginning of the whole.
type part struct {
	text string
	end  int
}

// window returns at most size characters of text from offset on, up to the end of
// a line if one is near, and how many characters there are in all.
func window(text string, offset, size int) (part, int) {
	total := utf8.RuneCountInString(text)
	if offset >= total {
		return part{end: total}, total
	}
	rest := skip(text, offset)
	if total-offset <= size {
		return part{rest, total}, total
	}
	shown := rest[:len(rest)-len(skip(rest, size))]
	if i := strings.LastIndexByte(shown, '\n'); i > len(shown)*4/5 {
		shown = shown[:i+1]
	}
	return part{shown, offset + utf8.RuneCountInString(shown)}, total
}

// skip returns text without its first n characters.
func skip(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[i:]
		}
		n--
	}
	return ""
}
