package edits

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// sharedHead returns how much of old and of new is the same from the start, a \n in new standing for any ending in old.
func sharedHead(old []byte, new string) (int, int) {
	i, j := 0, 0
	for i < len(old) && j < len(new) {
		switch {
		case new[j] == '\n' && bytes.HasPrefix(old[i:], []byte("\r\n")):
			i += 2
			j++
			continue
		case old[i] != new[j]:
			return boundary(old, new, i, j)
		}
		i++
		j++
	}
	return boundary(old, new, i, j)
}

// boundary backs up to where neither a character nor a \r\n is split.
func boundary(old []byte, new string, i, j int) (int, int) {
	for i > 0 && j > 0 && (splits(old, i) || splits(new, j)) {
		i--
		j--
	}
	return i, j
}

// splits reports whether i lies inside a character or a \r\n.
func splits[T string | []byte](s T, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	return !utf8.RuneStart(s[i]) || s[i-1] == '\r' && s[i] == '\n'
}

// sharedTail is sharedHead from the end.
func sharedTail(old []byte, new string) (int, int) {
	i, j := len(old), len(new)
	for i > 0 && j > 0 {
		if new[j-1] == '\n' && bytes.HasSuffix(old[:i], []byte("\r\n")) && !strings.HasSuffix(new[:j], "\r\n") {
			i -= 2
			j--
			continue
		}
		if old[i-1] != new[j-1] {
			break
		}
		i--
		j--
	}
	for i < len(old) && j < len(new) && (splits(old, i) || splits(new, j)) {
		i++
		j++
	}
	return len(old) - i, len(new) - j
}
