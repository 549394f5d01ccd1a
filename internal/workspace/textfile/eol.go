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

// EOL says how the text ends its lines.
func (t *Text) EOL() EOL { return EOLOf(t.text) }

// EndingAt returns the line ending that new lines at a decoded offset should use: that of the line the offset lies in,
// else that of the line before, else \n.
func (t *Text) EndingAt(off int) string {
	if i := bytes.IndexByte(t.text[off:], '\n'); i >= 0 {
		return endingBefore(t.text, off+i)
	}
	if i := bytes.LastIndexByte(t.text[:off], '\n'); i >= 0 {
		return endingBefore(t.text, i)
	}
	if bytes.IndexByte(t.text, '\r') >= 0 {
		return "\r"
	}
	return "\n"
}

func endingBefore(text []byte, lf int) string {
	if lf > 0 && text[lf-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// WithEndings returns s with every \n written as ending. Where ending is \n, a \r\n in s was meant and stays.
func WithEndings(s, ending string) string {
	if ending == "\n" || !strings.Contains(s, "\n") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\n", ending)
}

// Lines splits the raw bytes into lines, each with its ending. Joined they are the raw bytes again; a byte-order mark
// belongs to the first line.
func (t *Text) Lines() [][]byte {
	if len(t.raw) == 0 {
		return nil
	}
	newline := t.newline()[0]
	width, low := 1, 0
	if t.enc.wide {
		width = 2
		if t.enc.name == utf16BE.name {
			low = 1
		}
	}
	var lines [][]byte
	start := 0
	for i := 0; i+width <= len(t.raw); i += width {
		if t.raw[i+low] == newline && (width == 1 || t.raw[i+1-low] == 0) {
			lines = append(lines, t.raw[start:i+width])
			start = i + width
		}
	}
	if start < len(t.raw) {
		lines = append(lines, t.raw[start:])
	}
	return lines
}
