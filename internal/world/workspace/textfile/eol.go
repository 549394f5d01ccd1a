package textfile

import (
	"bytes"
	"strings"
)

// EOL is the way a file ends its lines.
type EOL string

const (
	NoEOL EOL = ""      // a single line without an end
	LF    EOL = "LF"    // \n
	CRLF  EOL = "CRLF"  // \r\n
	CR    EOL = "CR"    // \r, only where the file holds no \n at all
	Mixed EOL = "mixed" // \n and \r\n
)

// EOLOf says how a decoded text ends its lines. A lone \r is an ordinary character in a file that also holds \n.
func EOLOf(text []byte) EOL {
	lf := bytes.Count(text, []byte("\n"))
	if lf == 0 {
		if bytes.IndexByte(text, '\r') >= 0 {
			return CR
		}
		return NoEOL
	}
	switch crlf := bytes.Count(text, []byte("\r\n")); crlf {
	case 0:
		return LF
	case lf:
		return CRLF
	default:
		return Mixed
	}
}

// WithEndings returns s with every \n written as ending. Where ending is \n, a \r\n in s was meant and stays.
func WithEndings(s, ending string) string {
	if ending == "\n" || !strings.Contains(s, "\n") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\n", ending)
}
