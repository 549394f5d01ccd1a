package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"znkr.io/diff"
)

// Rewrite returns the raw bytes of a whole new content for this file: same encoding, same byte-order mark, and every line
// that the file already holds keeps its very bytes, ending and invalid sequences included. New lines end as the line before them
// does. Content that itself holds the file's \r was meant so and is taken as it is.
func (t *Text) Rewrite(content string) ([]byte, error) {
	if mark := "\uFEFF"; len(t.enc.bom) > 0 && !bytes.HasPrefix(t.text, []byte(mark)) {
		content = strings.TrimPrefix(content, mark)
	}
	splices, err := t.lineSplices(content)
	if err != nil {
		return nil, err
	}
	return t.Splice(splices)
}

// lineSplices finds the runs of lines that differ.
func (t *Text) lineSplices(content string) ([]Splice, error) {
	form := t.formOf(content)
	old, new := form.split(string(t.text), t.newline()), form.split(content, form.newline)
	ending := mainEnding(old)
	var out []Splice
	run := lineRun{}
	for _, e := range diff.Edits(keys(old), keys(new)) {
		if e.Op != diff.Insert && old[e.PosX].ending != "" {
			ending = old[e.PosX].ending
		}
		switch e.Op {
		case diff.Match:
			out = run.close(out, len(old[e.PosX].text))
		case diff.Delete:
			run.end += len(old[e.PosX].text)
			run.damaged = run.damaged || t.stray(old[e.PosX].text)
		case diff.Insert:
			line := new[e.PosY].text
			if run.damaged && strings.ContainsRune(line, utf8.RuneError) {
				return nil, &strayError{Line: e.PosY + 1}
			}
			if !form.exact {
				line = WithEndings(line, ending)
			}
			run.new = append(run.new, line)
		}
	}
	return run.close(out, 0), nil
}

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

// stray reports whether a line of the text stands for bytes that are invalid in the file's encoding.
func (t *Text) stray(line string) bool {
	return !utf8.ValidString(line) || t.enc.codec != nil && strings.ContainsRune(line, utf8.RuneError)
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

func (t *Text) formOf(content string) form {
	f := form{newline: "\n", exact: strings.Contains(content, "\r\n"), raw: !utf8.ValidString(content)}
	if newline := t.newline(); newline == "\r" && !strings.Contains(content, "\n") {
		f.newline, f.exact = newline, true
	}
	return f
}

// newline is the character that ends the lines of the file.
func (t *Text) newline() string {
	if t.EOL() == CR {
		return "\r"
	}
	return "\n"
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

func keys(lines []textLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.key
	}
	return out
}

// mainEnding returns the ending most lines have.
func mainEnding(lines []textLine) string {
	count := map[string]int{}
	best := "\n"
	for _, l := range lines {
		if count[l.ending]++; l.ending != "" && count[l.ending] > count[best] {
			best = l.ending
		}
	}
	return best
}
