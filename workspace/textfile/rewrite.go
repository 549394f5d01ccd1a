package textfile

import (
	"bytes"
	"strings"

	"znkr.io/diff"
)

// Rewrite returns the raw bytes of a whole new content for this file: same encoding, same byte-order mark, and every line
// that the file already holds keeps its very bytes, ending included. New lines end as the line before them does. Content
// that itself holds \r\n was meant so and is taken as it is.
func (t *Text) Rewrite(content string) ([]byte, error) {
	eol := t.EOL()
	if eol == NoEOL || eol == LF || strings.Contains(content, "\r\n") {
		b, err := t.enc.Encode(content)
		return append(t.enc.BOM(), b...), err
	}
	raws := t.Lines()
	raws[0] = bytes.TrimPrefix(raws[0], t.enc.bom)
	oldLines, endings := splitEndings(t.text, eol)
	out := t.enc.BOM()
	ending := mainEnding(endings)
	for _, e := range diff.Edits(oldLines, splitLines(content)) {
		if e.Op != diff.Insert && endings[e.PosX] != "" {
			ending = endings[e.PosX]
		}
		switch e.Op {
		case diff.Match:
			out = append(out, raws[e.PosX]...)
		case diff.Insert:
			b, err := t.enc.Encode(WithEndings(e.Y, ending))
			if err != nil {
				return nil, err
			}
			out = append(out, b...)
		}
	}
	return out, nil
}

// splitEndings returns the lines of a text with every ending written as \n, and the endings they really have.
func splitEndings(text []byte, eol EOL) (lines, endings []string) {
	sep := "\n"
	if eol == CR {
		sep = "\r"
	}
	for line := range strings.SplitAfterSeq(string(text), sep) {
		body, ended := strings.CutSuffix(line, sep)
		switch {
		case !ended && body == "":
			continue
		case !ended:
			lines, endings = append(lines, body), append(endings, "")
		case sep == "\n" && strings.HasSuffix(body, "\r"):
			lines, endings = append(lines, body[:len(body)-1]+"\n"), append(endings, "\r\n")
		default:
			lines, endings = append(lines, body+"\n"), append(endings, sep)
		}
	}
	return lines, endings
}

// mainEnding returns the ending most lines have.
func mainEnding(endings []string) string {
	count := map[string]int{}
	best := "\n"
	for _, e := range endings {
		if count[e]++; e != "" && count[e] > count[best] {
			best = e
		}
	}
	return best
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
