package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/visible"
)

// A menu offers what the word before the caret could become.
type menu struct {
	word  string // that is replaced
	items []pick
	at    int
}

func (m *menu) lines(v view) []string {
	from := max(0, min(m.at-maxShown/2, len(m.items)-maxShown))
	shown := m.items[from:min(from+maxShown, len(m.items))]
	column := 0
	for _, item := range shown {
		column = min(max(column, ansi.StringWidth(item.text)), v.width/2)
	}
	v.turned = true
	var lines []string
	for i, item := range shown {
		text := visible.Cells(strings.ReplaceAll(item.text, "\n", " "))
		if item.detail != "" {
			text += strings.Repeat(" ", max(column-ansi.StringWidth(text), 0)) + "  " + visible.Cells(strings.ReplaceAll(item.detail, "\n", " "))
		}
		line := option(v, from+i == m.at, text)
		if from+i != m.at {
			line = v.paint.Dim.Of(line)
		}
		lines = append(lines, line)
	}
	if more := len(m.items) - len(shown); more > 0 {
		lines = append(lines, v.paint.Dim.Of("    "+v.t("%d of %d", m.at+1, len(m.items))))
	}
	return lines
}

// fileList is the project's files, once they were listed. A turn may have made
// others, so that they are listed again after it.
type fileList struct {
	names []string
	old   bool
}

// lookTime is how long completions may take: nobody waits for longer.
const lookTime = 5 * time.Second

func picks(values []string, mark string) (items []pick) {
	for _, v := range values {
		items = append(items, pick{value: mark + strings.ReplaceAll(v, " ", `\ `), text: v})
	}
	return items
}

// atWord is a mention that is being written: an @ after anything but a letter of an
// address, up to the caret. A blank in a name has a backslash before it.
var atWord = lazyregexp.New(`(?:^|[^\p{Latin}\p{N}._%+/@\\-])@(?:\\ |[^\s@，。；：！？、（）【】《》「」『』])*$`)

// maxMenu is how many completions are offered, and maxShown how many are on the
// screen at once.
const (
	maxMenu  = 50
	maxShown = 8
)
