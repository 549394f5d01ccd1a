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
	for i > 0 && j > 0 && (i < len(old) && !utf8.RuneStart(old[i]) || j < len(new) && !utf8.RuneStart(new[j]) || splitsCRLF(old, i) || splitsCRLF([]byte(new[:min(len(new), j+1)]), j)) {
		i--
		j--
	}
	return i, j
}

func splitsCRLF(b []byte, i int) bool {
	return i > 0 && i < len(b) && b[i-1] == '\r' && b[i] == '\n'
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
	for i < len(old) && j < len(new) && (!utf8.RuneStart(old[i]) || !utf8.RuneStart(new[j]) || splitsCRLF(old, i) || splitsCRLF([]byte(new), j)) {
		i++
		j++
	}
	return len(old) - i, len(new) - j
}
