package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/drive"
	"github.com/haftdev/haft/internal/front/card"
	"github.com/haftdev/haft/internal/front/tui/composer"
	"github.com/haftdev/haft/internal/front/tui/key"
	"github.com/haftdev/haft/internal/knowledge/prompt"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/model"
)

// An entry is where the user writes, with what completes it, and what stops what runs.
type entry struct {
	dialogs

	write       *composer.Composer
	menu        *menu              // completion
	stopLooking context.CancelFunc // for completions that were asked for; nil for none
	images      []string           // that marks in what is written stand for, by their numbers from 1
	lastStop    time.Time          // ctrl+c on an empty composer
	// commandsRun are those that the user runs, with what stops them.
	commandsRun map[*call]context.CancelFunc
	done        bool
	err         error
}

// hangUp ends the session when nothing more can be typed.
func (a *entry) hangUp(err error) {
	if !errors.Is(err, io.EOF) {
		a.err = err
	}
	a.done = true
}

// pasteImage attaches the picture in the clipboard to what is written.
func (a *entry) pasteImage() {
	if a.opts.Clipboard == nil || a.talk == nil {
		a.hint = a.t("there is no clipboard to paste from")
		return
	}
	talk := a.talk
	a.hint = a.t("looking for an image in the clipboard…")
	go func() {
		data, err := a.opts.Clipboard.Image(a.ctx)
		path := ""
		if err == nil {
			path, err = talk.Input.KeepImage(data)
		}
		a.later(func() {
			a.hint, a.dirty = "", true
			if err != nil {
				a.hint = a.lang.Error(err)
				return
			}
			a.attach(path)
		})
	}()
}

// attach adds an image to what is written, as a mark.
func (a *entry) attach(path string) {
	a.images = append(a.images, path)
	a.write.Insert(imageMark(len(a.images)) + " ")
}

// attached are the images whose marks are in a text.
func (a *entry) attached(text string) (paths []string) {
	for i, path := range a.images {
		if strings.Contains(text, imageMark(i+1)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// dropped attaches images whose paths were pasted, as terminals do with a file that is
// dragged onto them: quoted, with escaped blanks, or as an address. It reports false for any
// other text.
func (a *entry) dropped(text string) bool {
	const longest = 8 << 10
	if a.talk == nil || len(text) > longest {
		return false
	}
	whole := strings.Trim(strings.TrimSpace(text), `'"`)
	names := []string{whole}
	if !isImage(pathOf(whole)) {
		names = prompt.Words(strings.ReplaceAll(strings.TrimSpace(text), `\ `, "\x00"))
	}
	var paths []string
	for _, n := range names {
		path := pathOf(strings.ReplaceAll(n, "\x00", " "))
		if !filepath.IsAbs(path) || !isImage(path) {
			return false
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		a.attach(path)
	}
	return len(paths) > 0
}

// complete offers completions for what is written, if there are any.
func (a *entry) complete() {
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
func (a *entry) lookFor(before string, look func(context.Context, *Talk) []pick, word string) {
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

// filesLike lists files. The first time they are being looked for in the meantime.
func (a *entry) filesLike(typed string) []pick {
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

// accept puts the selected completion into what is written.
func (a *entry) accept() {
	m := a.menu
	a.menu = nil
	value := m.items[m.at].value
	if !strings.HasSuffix(value, ":") && !strings.HasSuffix(value, "/") { // more of it follows
		value += " "
	}
	a.write.Replace(len([]rune(m.word)), value)
}

// turnTo gives the keys to the question, and with them what is in the input box, if it can be
// an answer: a message that was held back, or the letter or number of one.
func (a *entry) turnTo(d *dialog, now time.Time) {
	d.focused, d.turned = true, now
	text := strings.TrimSpace(a.write.Filled())
	p, takes := d.panel.(interface {
		take(text string, held bool) bool
	})
	if takes && text != "" && p.take(text, text == d.held) {
		a.write.Take()
	}
	d.held = ""
}

// dialogKey gives a key to the dialog, if that is meant. It reports false if the
// key is for the rest of the screen.
func (a *entry) dialogKey(k key.Key) bool {
	d, now := a.dialog, time.Now()
	switch {
	case d.own && k == key.Key{Rune: 'c', Ctrl: true}:
		return a.closeOwn()
	case d.own:
		return d.panel.key(k) || k.Name == key.Escape && a.closeOwn() || a.noAnswer(k)
	case !d.focused && k == key.Key{Name: key.Tab}:
		if d.armed(now, a.lastKey) {
			a.turnTo(d, now)
		} else {
			a.hint = a.t("press tab again after a moment without typing")
		}
		return true
	case !d.focused && (k == key.Key{Rune: 'o', Ctrl: true} || k.Name == key.PageDown || k.Name == key.PageUp):
		return d.panel.key(k) // it shows more of the question, and answers nothing
	case !d.focused:
		return false
	case k.Name == key.Escape && d.backs():
		d.panel.(backer).goBack()
		return true
	case k.Name == key.Escape || k.Rune == 'c' && k.Ctrl:
		d.turnAway()
		return k.Name == key.Escape
	case k == key.Key{Rune: '/'} && a.write.Empty() && !d.typing() && !d.searches():
		d.turnAway() // a command, whose letters are no answers
		return false
	case now.Sub(d.turned) < settling:
		d.turnAway()
		a.hint = a.t("ignored, too soon after tab: press tab, read the question, then press a letter or number")
		// Enter would send what is written, and an answer is not the beginning of a message.
		return k.Name == key.Enter || a.write.Empty()
	case k.Name == key.Enter && d.tooSoon(now):
		a.hint = a.t("ignored, too soon: look at what is selected, then press enter")
		return true
	}
	if !d.panel.key(k) && !a.noAnswer(k) && k == (key.Key{Name: key.Tab, Shift: true}) {
		a.nextMode()
	}
	return true
}

// paste adds pasted text to what is written, whatever is on the screen: only a
// field that a person has turned to takes it instead.
func (a *entry) paste(text string) {
	if a.dialog != nil && a.dialog.focused {
		if f, ok := a.dialog.panel.(interface{ paste(string) bool }); ok && f.paste(text) {
			return
		}
		a.dialog.turnAway()
	}
	if a.viewer == nil && !a.dropped(text) {
		a.write.Paste(text)
		a.complete()
	}
}

// tab completes, or takes what is suggested.
func (a *entry) tab() {
	if a.write.Empty() && a.advice != "" && a.working == nil {
		a.write.Set(a.advice)
		return
	}
	a.complete()
}

// searchHistory looks for something that the person wrote before.
func (a *entry) searchHistory() {
	var items []pick
	seen := map[string]bool{}
	for _, text := range slices.Backward(a.write.Remembered()) {
		if !seen[text] {
			seen[text] = true
			items = append(items, pick{value: text, text: strings.Join(strings.Fields(text), " ")})
		}
	}
	a.pop(&picker{title: a.t("Your earlier prompts:"), items: items, chooses: "inserts it", choose: func(p pick) {
		a.closeOwn()
		a.write.Set(p.value)
	}})
}

// up goes to an older text, or takes back what waits to be heard.
func (a *entry) up() {
	if a.write.Empty() && a.working != nil {
		if waiting := a.takeBack(1); waiting != "" {
			a.write.Set(waiting)
			return
		}
	}
	a.write.Up()
}

func (a *entry) interrupt() bool {
	if a.talk == nil {
		return false
	}
	// Who interrupts wants to decide anew: what waits would begin at once.
	waiting := a.takeBack(math.MaxInt)
	if waiting != "" {
		a.write.Set(strings.TrimLeft(a.write.Filled()+"\n\n"+waiting, "\n"))
	}
	stopped := a.stopCommands()
	if !a.talk.Driver.Interrupt() {
		return waiting != "" || stopped
	}
	if a.working != nil {
		a.working.stops = true
	}
	return true
}

// stop is ctrl+c: it clears, interrupts, and the second time leaves.
func (a *entry) stop() {
	if !a.write.Empty() {
		a.write.Remember(a.write.Take())
		a.menu = nil
		return
	}
	again := time.Since(a.lastStop) < 2*twice
	a.lastStop = time.Now()
	if again {
		a.done = true
		return
	}
	if a.working != nil {
		a.interrupt()
	}
	a.hint = a.t("ctrl+c again quits")
}

func (a *entry) leave() {
	if a.write.Empty() {
		a.done = true
	} else {
		a.write.Key(key.Key{Name: key.Delete})
	}
}

// edit lets the person write in their own editor.
func (a *entry) edit() {
	if a.opts.Edit == nil {
		a.hint = a.t("no editor is set: set VISUAL or EDITOR")
		return
	}
	var text string
	err := a.lend(func() (err error) {
		text, err = a.opts.Edit(a.write.Filled())
		return err
	})
	if err != nil {
		a.hint = a.t("could not edit: %s", err)
		return
	}
	a.write.Take()
	a.write.Set(strings.TrimRight(text, "\n"))
}

// say says something to the conversation: a prompt, or a command.
func (a *entry) say(text string) {
	a.talk.Driver.Say(drive.Message{Prompt: agent.Typed(text), Images: a.attached(text)})
}

// shell runs a command of the person's. The model is told of it with the next
// prompt.
func (a *entry) shell(command string) {
	c := &call{started: true, since: a.view().now}
	c.Title, c.Detail = "!", visible.Cells(command)
	a.show.add(c)
	talk, before := a.talk, a.working
	a.turn()
	ctx, cancel := context.WithCancel(a.ctx)
	a.commandsRun[c] = cancel
	go func() {
		r, err := talk.Input.Call(ctx, "Bash", map[string]string{"command": command})
		a.later(func() {
			delete(a.commandsRun, c)
			out := r.Text()
			if err != nil {
				out = err.Error()
			}
			c.end = &card.Ending{OK: err == nil && !r.Failed, Took: time.Since(c.since)}
			if ctx.Err() != nil {
				out, c.end.Stopped = a.t("stopped"), true
			}
			cancel()
			a.show.add(&note{text: a.bounded(out, 40), quiet: true})
			if before == nil && !a.turnRuns() {
				a.working = nil
			}
			talk.Driver.Say(drive.Message{Literal: true, Prompt: agent.Prompt{Silent: true, Content: []model.Block{model.TextOf(fmt.Sprintf("<bash-input>%s</bash-input>\n<bash-stdout>%s</bash-stdout>", command, out))}}})
			a.dirty = true
		})
	}()
}

// stopCommands stops the commands that the user runs, and reports whether there were any.
func (a *entry) stopCommands() bool {
	for _, cancel := range a.commandsRun {
		cancel()
	}
	return len(a.commandsRun) > 0
}

// local has one of haft's own commands carried out that a menu stands for.
func (a *entry) local(name, args string) {
	a.say(strings.TrimSpace("/" + name + " " + args))
}

// idle reports whether nothing runs or is about to that would end with the conversation.
func (a *entry) idle() bool {
	return a.working == nil && len(a.commandsRun)+len(a.tasks) == 0 && !a.talk.Driver.Busy() && a.talk.Turns.Running() == ""
}
