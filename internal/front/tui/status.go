package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/style"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// status is what the last line shows.
type status struct {
	model, mode  string
	used, window int64 // tokens
	cost         float64
	unpriced     bool
	dir, branch  string
	host         string // where the tools run; "" means here
	editor       string // the mode of vim's keys, "" without them
	sandbox      string // what confines commands, "" if it is not known
}

func (s *status) look(dir string) {
	s.dir, s.branch = dir, branchOf(dir)
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		if rest, ok := strings.CutPrefix(dir, home); ok && (rest == "" || rest[0] == '/') {
			s.dir = "~" + rest
		}
	}
}

// branchOf reads the branch of the repository around a folder, without git.
func branchOf(dir string) string {
	for {
		head, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
		if err == nil {
			name := strings.TrimSpace(string(head))
			if branch, ok := strings.CutPrefix(name, "ref: refs/heads/"); ok {
				return visible.Cells(branch)
			}
			return visible.Cells(name[:min(len(name), 8)])
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// line lays the status out in one line. What does not fit is left out, the least
// important first.
func (s *status) line(v view, tasks int) string {
	type part struct {
		text  string
		style style.Style
	}
	var parts []part
	add := func(text string, st style.Style) {
		if text != "" {
			parts = append(parts, part{text, st})
		}
	}
	switch s.editor {
	case "normal":
		add(v.t("NORMAL"), v.paint.Accent)
	case "visual":
		add(v.t("VISUAL"), v.paint.Accent)
	case "insert":
		add(v.t("INSERT"), v.paint.Dim)
	}
	add(modeText(s.mode, v), modeStyle(s.mode, v.paint))
	if s.host != "" {
		add(v.t("tools on %s", visible.Cells(s.host)), v.paint.Accent)
	}
	if tasks > 0 {
		add(v.t("%d in background", tasks), v.paint.Accent)
	}
	if s.sandbox == noSandbox {
		add(v.t(noSandbox), v.paint.Warn)
	}
	add(visible.Cells(s.model), v.paint.Dim)
	text, st := s.context(v)
	add(text, st)
	add(s.price(v), v.paint.Dim)
	add(visible.Cells(s.dir), v.paint.Dim)
	add(s.branch, v.paint.Dim)
	if s.sandbox != noSandbox {
		add(sandboxText(s.sandbox, v), v.paint.Dim)
	}
	line, used := "", 0
	for _, p := range parts {
		w := ansi.StringWidth(p.text)
		if used > 0 {
			w += 3
		}
		if used+w > v.width {
			break
		}
		if used > 0 {
			line += v.paint.Dim.Of(" · ")
		}
		line += p.style.Of(p.text)
		used += w
	}
	return line
}

// sandboxText is what confines commands, in the words of the user.
func sandboxText(said string, v view) string {
	switch kind, ok := strings.CutPrefix(said, "sandbox "); {
	case !ok:
		return said
	case kind == "off":
		return v.t("sandbox off")
	case kind == sandbox.TierBox.String():
		return v.t("sandboxed")
	default:
		return v.t("sandboxed (%s only)", kind)
	}
}

func (s *status) context(v view) (string, style.Style) {
	if s.window == 0 {
		return "", ""
	}
	share := float64(s.used) / float64(s.window)
	filled := min(int(share*8+0.5), 8)
	text := strings.Repeat("▰", filled) + strings.Repeat("▱", 8-filled) + fmt.Sprintf(" %.0f%%", share*100)
	if share > 0.75 {
		return text, v.paint.Warn
	}
	return text, v.paint.Dim
}

func (s *status) price(v view) string {
	switch {
	case s.unpriced && s.cost == 0:
		return ""
	case s.unpriced:
		return v.t("over $%.2f", s.cost)
	}
	return fmt.Sprintf("$%.2f", s.cost)
}

// modeTexts say what a permission mode means for the person.
var modeTexts = map[string]lang.Text{
	"default": "asks first", "acceptEdits": "edits allowed", "plan": "plan only", "auto": "auto", "dontAsk": "never asks", "bypassPermissions": "ALLOWS ALL",
}

func modeText(mode string, v view) string {
	if t, ok := modeTexts[mode]; ok {
		return v.t(t)
	}
	return mode
}

func modeStyle(mode string, p style.Palette) style.Style {
	switch mode {
	case "plan":
		return p.Accent
	case "acceptEdits", "auto":
		return p.Good
	case "bypassPermissions":
		return p.Bad.With(p.Bold)
	}
	return p.Dim
}

// cycle is the order in which shift+tab goes through the modes. Those that never
// ask are not reached by accident.
var cycle = map[string]string{"default": "plan", "plan": "acceptEdits", "acceptEdits": "default"}
