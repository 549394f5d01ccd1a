package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiC decodes the inside of $'…'. It reports false, with a best guess, for
// escapes beyond \n \t \\ \' \" \xHH \0oo and for values that hold control
// characters.
func ansiC(s string) (string, bool) {
	var out strings.Builder
	ok := true
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		n := 0
		switch c := s[i]; {
		case strings.IndexByte(`\'"?`, c) >= 0:
			out.WriteByte(c)
		case c == 'n':
			out.WriteByte('\n')
		case c == 't':
			out.WriteByte('\t')
		case c == 'x':
			n = digits(s[i+1:], "0123456789abcdefABCDEF", 2)
			if n == 0 {
				ok = false
				if strings.HasPrefix(s[i+1:], "{") { // bash reads \x{2d}
					hex, _, _ := strings.Cut(s[i+2:], "}")
					if code, err := strconv.ParseUint(hex, 16, 8); err == nil {
						out.WriteByte(byte(code))
						n = len(hex) + 2
					}
				}
				break
			}
			code, _ := strconv.ParseUint(s[i+1:i+1+n], 16, 8)
			out.WriteByte(byte(code))
		case c >= '0' && c <= '7':
			n = digits(s[i:], "01234567", 3)
			code, _ := strconv.ParseUint(s[i:i+n], 8, 16)
			out.WriteByte(byte(code))
			n--
		default:
			ok = false
			out.WriteByte(c)
		}
		i += n
		i = min(i, len(s)-1)
	}
	v := out.String()
	if !utf8.ValidString(v) || strings.ContainsFunc(v, isControl) || strings.ContainsFunc(v, isInvisible) {
		return v, false
	}
	return v, ok
}

// digits returns how many of the first max bytes of s are in set.
func digits(s, set string, max int) int {
	n := 0
	for n < len(s) && n < max && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return n
}
