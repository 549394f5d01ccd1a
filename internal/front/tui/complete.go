package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/lazyregexp"
	"github.com/haftdev/haft/internal/text/near"
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

// complete offers completions for what is written, if there are any.
func (a *app) complete() {
	before := a.write.Before()
	word := before[strings.LastIndexAny(before, " \n")+1:]
	if m := atWord.FindString(before); m != "" {
		word = m[strings.IndexByte(m, '@'):]
	}
	var items []pick
	switch {
	case a.talk == nil:
	case strings.HasPrefix(before, "/") && word == before:
		items = a.commandsLike(word[1:])
	case strings.HasPrefix(word, "@"):
		items = a.filesLike(strings.ReplaceAll(word[1:], `\ `, " "))
		a.lookFor(before, func(ctx context.Context, talk *Talk) []pick {
			return picks(talk.Input.CompleteResource(ctx, word[1:]), "@")
		}, word)
	case strings.HasPrefix(before, "/") && !strings.Contains(before, "\n"):
		words := strings.Fields(strings.TrimSuffix(before, word))
		a.lookFor(before, func(ctx context.Context, talk *Talk) []pick {
			return picks(talk.Input.Arguments(ctx, words[0][1:], words[1:], word), "")
		}, word)
	}
	if len(items) == 0 || len(items) == 1 && items[0].value == word {
		a.menu = nil
		return
	}
	a.menu = &menu{word: word, items: items}
}

// lookFor has completions looked for that may take a while, and offers them with those that are
// offered, if nothing was typed meanwhile.
func (a *app) lookFor(before string, look func(context.Context, *Talk) []pick, word string) {
	if a.stopLooking != nil {
		a.stopLooking()
	}
	ctx, cancel := context.WithTimeout(a.ctx, lookTime)
	a.stopLooking = cancel
	talk := a.talk
	go func() {
		defer cancel()
		found := look(ctx, talk)
		if ctx.Err() != nil || len(found) == 0 {
			return
		}
		a.later(func() {
			if a.talk != talk || a.write.Before() != before || len(found) == 1 && found[0].value == word {
				return
			}
			if a.menu == nil || a.menu.word != word {
				a.menu = &menu{word: word}
			}
			a.menu.items = append(a.menu.items, found...)
			a.menu.items = a.menu.items[:min(len(a.menu.items), maxMenu)]
			a.dirty = true
		})
	}()
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

func (a *app) commandsLike(typed string) []pick {
	var items []pick
	for _, c := range a.allCommands() {
		if s := near.Fit(c.Name, typed); s > 0 {
			items = append(items, pick{value: "/" + c.Name, text: strings.TrimSpace("/" + c.Name + " " + c.Hint), detail: a.t(lang.Text(c.Description))})
		}
	}
	slices.SortStableFunc(items, func(x, y pick) int {
		return cmp.Compare(near.Fit(y.value[1:], typed), near.Fit(x.value[1:], typed))
	})
	items = slices.CompactFunc(items, func(x, y pick) bool { return x.value == y.value })
	return items[:min(len(items), maxMenu)]
}

// filesLike lists files. The first time they are being looked for in the meantime.
func (a *app) filesLike(typed string) []pick {
	if a.files == nil {
		a.files = &fileList{old: true}
	}
	if a.files.old {
		a.files.old = false
		talk, files := a.talk, a.files
		go func() {
			names, err := talk.Input.Files(a.ctx)
			a.later(func() {
				if err != nil {
					a.hint = a.t("could not list files: %s", err)
				}
				files.names = names
				if a.talk == talk {
					a.complete()
				}
				a.dirty = true
			})
		}()
	}
	var items []pick
	for _, name := range near.Fitting(a.files.names, typed, maxMenu) {
		items = append(items, pick{value: "@" + strings.ReplaceAll(name, " ", `\ `), text: name})
	}
	return items
}

// menuKey gives a key to the menu. It reports false if the key is not for it.
func (a *app) menuKey(k key.Key) bool {
	m := a.menu
	switch k.String() {
	case "up":
		m.at = (m.at + len(m.items) - 1) % len(m.items)
	case "down":
		m.at = (m.at + 1) % len(m.items)
	case "esc":
		a.menu = nil
	case "tab":
		a.accept()
	case "enter":
		if strings.HasPrefix(m.word, "/") {
			a.accept()
			a.enter()
			return true
		}
		if m.items[m.at].value == m.word { // it is all there
			a.menu = nil
			return false
		}
		a.accept()
	default:
		return false
	}
	return true
}

// accept puts the selected completion into what is written.
func (a *app) accept() {
	m := a.menu
	a.menu = nil
	value := m.items[m.at].value
	if !strings.HasSuffix(value, ":") && !strings.HasSuffix(value, "/") { // more of it follows
		value += " "
	}
	a.write.Replace(len([]rune(m.word)), value)
}
