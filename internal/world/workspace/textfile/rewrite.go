package textfile

import (
	"fmt"
	"strings"
)

// lineRun is a run of lines between two that stay.
type lineRun struct {
	start, end int
	new        []string
	damaged    bool // it drops bytes that are shown as U+FFFD
}

// close adds the run to the splices if it changes anything, and begins the next one after a line that stays.
func (r *lineRun) close(to []Splice, stays int) []Splice {
	if r.end > r.start || len(r.new) > 0 {
		to = append(to, Splice{Start: r.start, End: r.end, New: strings.Join(r.new, "")})
	}
	*r = lineRun{start: r.end + stays, end: r.end + stays}
	return to
}

// strayError says that a new content spells out U+FFFD where the file has bytes that are no text. Its text is written for the
// model.
type strayError struct{ Line int }

func (e *strayError) Error() string {
	return fmt.Sprintf("Line %d of the new content has U+FFFD where the file has bytes that are not valid text, which it would replace. Use Edit for the text around them, and leave lines with such bytes as they were shown.", e.Line)
}

// form is how a content is compared with the text of a file.
type form struct {
	newline string // of the content
	exact   bool   // endings count, and are written as they are
	raw     bool   // the content holds invalid UTF-8 itself, so that it was not made from what was shown
}

// textLine is a line as it is, its ending if it has one, and what it is compared by.
type textLine struct{ text, ending, key string }

func (f form) split(s, sep string) []textLine {
	var out []textLine
	for text := range strings.SplitAfterSeq(s, sep) {
		if text == "" {
			continue
		}
		l := textLine{text: text, key: text}
		body, ended := strings.CutSuffix(text, sep)
		if ended {
			body = strings.TrimSuffix(body, "\r")
			l.ending = text[len(body):]
		}
		if ended && !f.exact {
			l.key = body + "\n"
		}
		if !f.raw {
			l.key = strings.ToValidUTF8(l.key, "\uFFFD")
		}
		out = append(out, l)
	}
	return out
}
