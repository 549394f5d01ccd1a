package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/markdown"
	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/visible"
)

// A said block is what the person said.
type saidBlock struct{ text string }

func (b *saidBlock) take(v view) ([]string, bool) {
	var lines []string
	all := strings.Split(strings.TrimRight(b.text, "\n"), "\n")
	const most = 30
	for i, l := range all {
		if i == most {
			lines = append(lines, v.paint.Dim.Of("  … "+v.lang.Count(len(all)-most, "more line")))
			break
		}
		for _, part := range hangingWrap(visible.ProseCells(l), v.width-2) {
			mark := "  "
			if len(lines) == 0 {
				mark = "› "
			}
			lines = append(lines, v.paint.Prompt.Of(mark+part))
		}
	}
	return lines, true
}

// tail shows it while a call before it runs.
func (b *saidBlock) tail(v view) []string {
	lines, _ := b.take(v)
	return lines
}
func (b *saidBlock) close()        {}
func (b *saidBlock) compact() bool { return false }

// A text is what the model says, as Markdown.
type text struct {
	stream *markdown.Stream
	words  strings.Builder // as they came
	ended  bool
}

func (b *text) write(s string) {
	b.stream.Write(s)
	b.words.WriteString(s)
}

func (b *text) take(view) ([]string, bool) {
	if b.ended {
		return b.stream.Close(), true
	}
	return b.stream.Take(), false
}

func (b *text) tail(v view) []string { return b.stream.Tail() }
func (b *text) close()               { b.ended = true }
func (b *text) compact() bool        { return false }

// A thought is what the model thinks. It is folded: only that it thinks, and at
// the end for how long.
type thought struct {
	text         strings.Builder
	since, until time.Time
}

func (b *thought) take(v view) ([]string, bool) {
	if b.until.IsZero() {
		return nil, false
	}
	if strings.TrimSpace(b.text.String()) == "" {
		return nil, true
	}
	if b.until.Sub(b.since) < time.Second {
		return []string{v.paint.Dim.Of("✻ " + v.t("thought (ctrl+o shows it)"))}, true
	}
	return []string{v.paint.Dim.Of("✻ " + v.t("thought for %s (ctrl+o shows it)", seconds(b.until.Sub(b.since))))}, true
}

func (b *thought) tail(v view) []string {
	lines := []string{v.paint.Dim.Of("✻ " + v.t("thinking"))}
	if d := v.now.Sub(b.since).Truncate(time.Second); d > 0 {
		lines[0] = v.paint.Dim.Of("✻ " + v.t("thinking %s", seconds(d)))
	}
	if last := lastLine(b.text.String()); last != "" {
		lines = append(lines, v.paint.Dim.Of("  "+ansi.Truncate(visible.Cells(last), v.width-4, "…")))
	}
	return lines
}

func (b *thought) close() {
	if b.until.IsZero() {
		b.until = time.Now()
	}
}
func (b *thought) compact() bool { return true }

// A note is a line from haft itself.
type note struct {
	text  string
	style func(style.Palette) style.Style // nil is dim
	quiet bool                            // no mark before it
}

func (b *note) take(v view) ([]string, bool) {
	s := v.paint.Dim
	if b.style != nil {
		s = b.style(v.paint)
	}
	var lines []string
	for _, l := range strings.Split(strings.TrimRight(b.text, "\n"), "\n") {
		for _, part := range hangingWrap(visible.ProseCells(l), v.width-2) {
			mark := "  "
			if len(lines) == 0 && !b.quiet {
				mark = "! "
			}
			if b.quiet {
				mark = ""
			}
			lines = append(lines, s.Of(mark+part))
		}
	}
	return lines, true
}

// tail shows it while a call before it runs.
func (b *note) tail(v view) []string {
	lines, _ := b.take(v)
	return lines
}
func (b *note) close()        {}
func (b *note) compact() bool { return b.quiet }

func warning(p style.Palette) style.Style { return p.Warn }
func failure(p style.Palette) style.Style { return p.Bad }

func lastLine(s string) string {
	s = strings.TrimRight(s, " \n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// seconds is a duration for people.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Minute:
		return d.Round(time.Second).String()
	}
	if d = d.Round(time.Second); d%time.Minute == 0 {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return d.String()
}
