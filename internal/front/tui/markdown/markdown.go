// Package markdown turns Markdown into coloured lines while it is still being
// written.
//
//	s := markdown.New(80, palette)
//	s.Write("# Tit")
//	s.Write("le\n\nSome text…")
//	done := s.Take()    // lines that will not change any more
//	rest := s.Tail()    // how the unfinished end looks at this moment
//	done = append(s.Close(), …)
//
// A block is laid out once, when it ends; a line of code when the line ends. So a
// text costs its own length however long it becomes, and the tail costs the one
// block that is open. It reads what models write: headings, lists, quotes, tables,
// fenced and indented code, emphasis, code, links. What it does not know it shows as text.
//
// Characters that could move a cursor or hide something are made visible. A Stream
// belongs to one goroutine.
package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/haftdev/haft/internal/front/tui/code"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/visible"
)

// A Stream is a text that is being written.
type Stream struct {
	paint style.Palette
	width int

	line  string   // the last one, not finished
	lines []string // laid out and not taken

	para   paragraph
	table  []string
	fence  *fence
	quote  *Stream
	margin int  // where the content of the list item begins that is open
	gap    bool // a blank line is due before the next block
	begun  bool // something was laid out
}

// A paragraph is text with what stands before its first line and before the
// others.
type paragraph struct {
	text        []string
	size        int
	first, rest string
	heading     bool
}

// A fence is a block of code.
type fence struct {
	mark   string // "" for indented code
	indent int
	blanks int // empty lines of indented code, which belong to it if more follows
	code   code.Highlighter
}

// New returns a stream whose lines are at most width wide.
func New(width int, p style.Palette) *Stream { return &Stream{paint: p, width: max(width, 10)} }

// longest is how many bytes of a line, or of a paragraph, are laid out together:
// the tail must not become more expensive with a text that has no end.
const longest = 4096

// Write adds to the text.
func (s *Stream) Write(text string) {
	s.line += text
	for {
		end := strings.IndexByte(s.line[:min(len(s.line), longest)], '\n')
		switch {
		case end >= 0:
			s.feed(s.line[:end])
			s.line = s.line[end+1:]
		case len(s.line) > longest:
			end = cutAt(s.line)
			s.feed(s.line[:end])
			s.line = strings.TrimPrefix(s.line[end:], " ")
		default:
			return
		}
	}
}

// cutAt returns where a line that is too long is cut: at a blank if there is one.
func cutAt(line string) int {
	if at := strings.LastIndexByte(line[:longest], ' '); at > longest/2 {
		return at
	}
	at := longest
	for at > longest-utf8.UTFMax && !utf8.RuneStart(line[at]) {
		at--
	}
	return at
}

// Take returns the lines that are finished since it was last called.
func (s *Stream) Take() []string {
	lines := s.lines
	s.lines = nil
	return lines
}

// Tail returns the unfinished end as it would look if nothing followed. Lines that
// are finished and were not taken are not part of it.
func (s *Stream) Tail() []string {
	t := *s
	t.lines = nil
	t.para.text = append([]string(nil), s.para.text...)
	t.table = append([]string(nil), s.table...)
	if s.fence != nil {
		f := *s.fence
		t.fence = &f
	}
	if s.quote != nil {
		q := *s.quote
		q.lines = append([]string(nil), s.quote.lines...)
		t.quote = &q
	}
	return t.Close()
}

// Close ends the text and returns the lines that were not taken.
func (s *Stream) Close() []string {
	if s.line != "" {
		s.feed(s.line)
		s.line = ""
	}
	s.end()
	return s.Take()
}

// Resize changes the width of what is not laid out yet.
func (s *Stream) Resize(width int) { s.width = max(width, 10) }

// feed takes in one line.
func (s *Stream) feed(line string) {
	line = clean(line)
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if s.fence != nil && s.fence.mark != "" {
		s.code(line)
		return
	}
	if s.indented(line, text == "", indent) {
		return
	}
	switch {
	case strings.HasPrefix(text, ">"):
		s.quoted(strings.TrimPrefix(text[1:], " "))
		return
	case text == "":
		s.end()
		s.gap = s.begun
		return
	case fenceMark(text) != "":
		s.end()
		s.open(text, indent)
		return
	case isRow(text):
		s.row(text)
		return
	case isRule(text) && len(s.para.text) == 0:
		s.end()
		s.put(s.paint.Dim.Of(strings.Repeat("─", min(s.width, 40))))
		return
	case level(text) > 0:
		s.end()
		s.margin = 0
		s.para = paragraph{heading: true, text: []string{strings.TrimSpace(strings.TrimRight(text[level(text):], "# "))}}
		s.end()
		s.gap = true
		return
	}
	if mark, rest, ok := item(text); ok {
		s.end()
		s.item(mark, rest, indent)
		return
	}
	s.prose(text, indent)
}

// prose adds a line to the paragraph that is open, or opens one.
func (s *Stream) prose(text string, indent int) {
	if len(s.para.text) == 0 {
		s.end()
		if indent < s.margin {
			s.margin = 0
		}
		pad := strings.Repeat(" ", s.margin)
		s.para = paragraph{first: pad, rest: pad}
	}
	s.para.text = append(s.para.text, text)
	if s.para.size += len(text); s.para.size > longest {
		s.end()
	}
}

// item opens an item of a list.
func (s *Stream) item(mark, text string, indent int) {
	pad := strings.Repeat(" ", min(indent, 12))
	shown := mark
	if len(mark) == 1 {
		shown = "•"
	}
	if rest, ok := strings.CutPrefix(text, "[ ] "); ok {
		shown, text = "☐", rest
	} else if rest, ok := strings.CutPrefix(text, "[x] "); ok {
		shown, text = "☑", rest
	}
	s.margin = len(pad) + len([]rune(shown)) + 1
	s.para = paragraph{first: pad + s.paint.Accent.Of(shown) + " ", rest: strings.Repeat(" ", s.margin), text: []string{text}}
}

func (s *Stream) open(text string, indent int) {
	mark := fenceMark(text)
	info := strings.TrimSpace(text[len(mark):])
	lang, _, _ := strings.Cut(info, " ")
	s.fence = &fence{mark: mark, indent: indent, code: *code.New(lang, s.paint)}
	if s.gap {
		s.blank()
	}
}

func (s *Stream) code(line string) {
	text := strings.TrimLeft(line, " ")
	if f := s.fence; strings.HasPrefix(text, f.mark) && strings.Trim(text, f.mark[:1]) == "" {
		s.fence = nil
		s.gap = true
		return
	}
	if cut := min(len(line)-len(text), s.fence.indent); cut > 0 {
		line = line[cut:]
	}
	s.put("  " + strings.Repeat(" ", s.margin) + s.fence.code.Line(line))
}

// codeIndent is how much deeper than the text around it a line of code is.
const codeIndent = 4

// indented takes in a line of indented code, and reports whether it was one. Such code follows
// an empty line, a heading or other code: in a paragraph, depth means nothing.
func (s *Stream) indented(line string, empty bool, indent int) bool {
	f := s.fence
	switch {
	case f != nil && empty:
		f.blanks++
		return true
	case f != nil && indent < f.indent:
		s.fence, s.gap = nil, true
		return false
	case f == nil && (empty || indent < s.margin+codeIndent || len(s.para.text) > 0 || s.table != nil):
		return false
	case f == nil:
		s.end()
		f = &fence{indent: s.margin + codeIndent, code: *code.New("", s.paint)}
		s.fence = f
	}
	for ; f.blanks > 0; f.blanks-- {
		s.put("")
	}
	s.put("  " + strings.Repeat(" ", s.margin) + f.code.Line(line[f.indent:]))
	return true
}

func (s *Stream) quoted(text string) {
	if s.quote == nil {
		s.end()
		p := s.paint
		s.quote = New(s.width-2, p)
	}
	s.quote.Write(text + "\n")
	s.putQuote(s.quote.Take())
}

func (s *Stream) putQuote(lines []string) {
	for _, l := range lines {
		s.put(s.paint.Dim.Of("│") + " " + l)
	}
}

// row adds a row to the table that is open, or opens one.
func (s *Stream) row(text string) {
	if s.table == nil {
		s.end()
	}
	s.table = append(s.table, text)
}

// end lays out what is open.
func (s *Stream) end() {
	if q := s.quote; q != nil {
		s.quote = nil
		s.putQuote(q.Close())
	}
	if rows := s.table; rows != nil {
		s.table = nil
		for _, l := range s.layTable(rows) {
			s.put(l)
		}
	}
	p := s.para
	s.para = paragraph{}
	if len(p.text) == 0 {
		return
	}
	if p.heading && s.begun {
		s.gap = true
	}
	base := style.Style("")
	if p.heading {
		base = s.paint.Heading
	}
	for _, l := range wrap(inline(p.text, s.paint, base), s.width, p.first, p.rest) {
		s.put(l)
	}
}

// put adds a line.
func (s *Stream) put(l string) {
	if s.gap {
		s.blank()
	}
	s.begun = true
	s.lines = append(s.lines, l)
}

func (s *Stream) blank() {
	s.gap = false
	s.lines = append(s.lines, "")
}

// layTable lays the rows of a table out in columns. Cells that do not fit are
// wrapped; a table that cannot be made to fit is shown as it was written.
func (s *Stream) layTable(rows []string) []string {
	var cells [][][]span
	columns, header := 0, false
	var aligned []alignment
	for i, r := range rows {
		parts := splitRow(r)
		if i == 1 && isDelimiter(parts) {
			header, aligned = true, alignments(parts)
			continue
		}
		var row [][]span
		for _, p := range parts {
			base := style.Style("")
			if i == 0 {
				base = s.paint.Bold
			}
			row = append(row, inline([]string{p}, s.paint, base))
		}
		cells = append(cells, row)
		columns = max(columns, len(row))
	}
	widths := s.columns(cells, columns)
	if !header || widths == nil {
		return rows
	}
	var lines []string
	for i, row := range cells {
		lines = append(lines, layRow(row, widths, aligned, s.paint)...)
		if i == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			lines = append(lines, s.paint.Dim.Of(strings.Join(rule, "─┼─")))
		}
	}
	return lines
}

// columns returns how wide each column becomes, or nil if they do not fit.
func (s *Stream) columns(cells [][][]span, n int) []int {
	widths := make([]int, n)
	total := 3 * (n - 1)
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], spansWidth(c))
		}
	}
	for _, w := range widths {
		total += w
	}
	for total > s.width { // the widest gives way
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= 8 {
			return nil
		}
		widths[widest]--
		total--
	}
	return widths
}

// layRow returns the lines of a row.
func layRow(row [][]span, widths []int, aligned []alignment, p style.Palette) []string {
	columns := make([][]string, len(widths))
	height := 1
	for i := range widths {
		if i < len(row) {
			columns[i] = wrap(row[i], widths[i], "", "")
		}
		height = max(height, len(columns[i]))
	}
	lines := make([]string, height)
	for y := range lines {
		for i, w := range widths {
			cell := ""
			if y < len(columns[i]) {
				cell = columns[i][y]
			}
			if i > 0 {
				lines[y] += p.Dim.Of(" │ ")
			}
			before, after := 0, max(0, w-ansi.StringWidth(cell))
			if i < len(aligned) {
				before = aligned[i].before(after)
			}
			lines[y] += strings.Repeat(" ", before) + cell
			if i < len(widths)-1 {
				lines[y] += strings.Repeat(" ", after-before)
			}
		}
	}
	return lines
}

// alignments reads the row under a table's head.
func alignments(parts []string) []alignment {
	var list []alignment
	for _, p := range parts {
		var a alignment
		switch left, right := strings.HasPrefix(p, ":"), strings.HasSuffix(p, ":"); {
		case left && right:
			a = "center"
		case right:
			a = "right"
		}
		list = append(list, a)
	}
	return list
}

func spansWidth(spans []span) (n int) {
	for _, s := range spans {
		n += ansi.StringWidth(s.text)
	}
	return n
}

func splitRow(row string) []string {
	row = strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|")
	row = strings.ReplaceAll(row, `\|`, "\x00")
	parts := strings.Split(row, "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(p, "\x00", "|"))
	}
	return parts
}

func isDelimiter(parts []string) bool {
	for _, p := range parts {
		if p == "" || strings.Trim(p, ":-") != "" {
			return false
		}
	}
	return true
}

// wrap breaks spans into lines that are at most width wide, with first before the
// first and rest before the others. Words are broken only if they are longer than
// a line; a wide character is a word of its own.
func wrap(spans []span, width int, first, rest string) []string {
	w := &wrapper{width: width, first: first, rest: rest}
	w.begin(first)
	for _, s := range spans {
		if s.text == hardBreak {
			w.settle()
			w.next()
			continue
		}
		w.span(s)
	}
	w.settle()
	w.flush()
	return append(w.lines, w.line.String())
}

// clean makes a line visible.
func clean(line string) string {
	return visible.ProseCells(strings.TrimRight(line, "\r \t"))
}

// fenceMark returns the marks that open a block of code, or "".
func fenceMark(text string) string {
	for _, c := range []string{"`", "~"} {
		n := len(text) - len(strings.TrimLeft(text, c))
		if n >= 3 && !strings.Contains(text[n:], c) {
			return text[:n]
		}
	}
	return ""
}

func isRule(text string) bool {
	for _, c := range "-*_" {
		if s := strings.ReplaceAll(text, " ", ""); len(s) >= 3 && strings.Trim(s, string(c)) == "" {
			return true
		}
	}
	return false
}

func isRow(text string) bool {
	return len(text) > 1 && strings.HasPrefix(text, "|") && strings.HasSuffix(text, "|")
}

// level returns that of a heading, or 0.
func level(text string) int {
	n := len(text) - len(strings.TrimLeft(text, "#"))
	if n > 6 || n == len(text) || text[n] != ' ' {
		return 0
	}
	return n
}

// item takes the mark of a list's item off.
func item(text string) (mark, rest string, ok bool) {
	mark, rest, ok = strings.Cut(text, " ")
	if !ok {
		return "", "", false
	}
	switch mark {
	case "-", "*", "+":
		return mark, strings.TrimLeft(rest, " "), true
	}
	digits := strings.TrimRight(mark, ".)")
	if len(mark)-len(digits) != 1 || digits == "" || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return "", "", false
	}
	return mark, strings.TrimLeft(rest, " "), true
}

// hardBreak ends a line within a paragraph.
const hardBreak = "\n"

// inline reads what stands in running text: emphasis, code, links.
func inline(lines []string, p style.Palette, base style.Style) []span {
	var spans []span
	for i, l := range lines {
		if i > 0 {
			spans = append(spans, span{text: " "})
		}
		cut, hard := strings.CutSuffix(l, "\\")
		in := reader{paint: p, text: cut}
		in.read(base)
		spans = append(spans, linked(in.spans, p)...)
		if hard && i < len(lines)-1 {
			spans = append(spans, span{text: hardBreak})
		}
	}
	return spans
}
