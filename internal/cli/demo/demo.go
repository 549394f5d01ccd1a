// Package demo shows what haft does, with no API key and no network. A scene is a
// temporary repository and a scripted model that works in it. The model's words are
// written here and served over real HTTP on this machine; the client, the streaming,
// the tools, the verdicts, the files and the processes are real.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/haftdev/haft/internal/lang"
	"github.com/haftdev/haft/internal/near"
	"github.com/haftdev/haft/shellrun"
)

// Options are what a demo needs of the command.
type Options struct {
	Out io.Writer
	Err io.Writer
	// Text is Out for sentences, such as one that breaks lines between words; nil means Out.
	Text io.Writer
	// Story is Out for the conversation, whose text arrives in pieces; nil means Out.
	Story io.Writer
	// ReadLine reads what the user types; nil if nobody can be asked.
	ReadLine func(context.Context) (string, error)
	// Lang is the language of the demo; nil is English.
	Lang *lang.Catalogue
	// Color colours the output.
	Color bool
	// Reexec and Version are those of the command.
	Reexec  shellrun.Reexec
	Version string
	// Keep leaves the temporary repository, Quick leaves out the pauses that let a
	// user read along.
	Keep, Quick bool
}

// A Scene is the name and the title of a scene.
type Scene struct {
	Name  string
	Title lang.Text
}

// Scenes returns every scene, in the order of the menu.
func Scenes() []Scene {
	var out []Scene
	for _, s := range scenes() {
		out = append(out, Scene{s.name, s.title})
	}
	return out
}

// ErrNoScene means that there is no scene of this name.
var ErrNoScene = errors.New("there is no such scene")

// Run plays one scene. Without a name it offers them all, or plays the first where
// nobody can choose.
func Run(ctx context.Context, name string, o *Options) error {
	leave, err := keepNothing()
	if err != nil {
		return err
	}
	defer leave()
	all := scenes()
	switch {
	case name != "":
		for _, s := range all {
			if s.name == name {
				return o.play(ctx, s)
			}
		}
		return fmt.Errorf("%w as %q.%s Run 'haft demo --help' for the list", ErrNoScene, name, near.Hint(name, names(all)))
	case o.ReadLine == nil:
		if err := o.play(ctx, all[0]); err != nil {
			return err
		}
		return o.print("%s\n", o.Lang.T("More to see: haft demo %s", strings.Join(names(all[1:]), " | ")))
	}
	return o.menu(ctx, all)
}

func names(all []scene) (out []string) {
	for _, s := range all {
		out = append(out, s.name)
	}
	return out
}

// menu plays the scenes that the user chooses until they have seen enough.
func (o *Options) menu(ctx context.Context, all []scene) error {
	seen := make([]bool, len(all))
	for suggested := 0; ; {
		o.print("%s\n", o.Lang.T("What would you like to see?"))
		for i, s := range all {
			o.print("  %d  %-11s %s\n", i+1, s.name, o.Lang.T(s.title))
		}
		if suggested < len(all) {
			o.print("%s ", o.Lang.T("Number or name (enter: %s, q: quit):", all[suggested].name))
		} else {
			o.print("%s ", o.Lang.T("Number or name (enter: quit):"))
		}
		line, err := o.ReadLine(ctx)
		if err != nil {
			return err
		}
		i, quit := choose(line, all, suggested)
		switch {
		case quit:
			return nil
		case i < 0:
			o.print("%s\n\n", o.Lang.T("There is no scene %q.", strings.TrimSpace(line)))
			continue
		}
		o.print("\n")
		if err := o.play(ctx, all[i]); err != nil {
			return err
		}
		o.print("\n")
		seen[i] = true
		suggested = unseen(seen, i)
	}
}

// unseen is the scene to suggest after another: the next one that was not seen, from the first
// again after the last; their number if all were.
func unseen(seen []bool, after int) int {
	for i := range seen {
		if next := (after + 1 + i) % len(seen); !seen[next] {
			return next
		}
	}
	return len(seen)
}

// choose returns the scene that a line names, or -1. The end of the input has no
// newline, and quits.
func choose(line string, all []scene, suggested int) (i int, quit bool) {
	word := strings.ToLower(strings.TrimSpace(line))
	switch {
	case word == "" && (suggested >= len(all) || !strings.HasSuffix(line, "\n")), word == "q", word == "quit", word == "exit":
		return 0, true
	case word == "":
		return suggested, false
	}
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(all) {
		return n - 1, false
	}
	for i, s := range all {
		if strings.HasPrefix(s.name, word) {
			return i, false
		}
	}
	return -1, false
}

// print writes sentences that are in the user's language already.
func (o *Options) print(format string, args ...any) error {
	_, err := fmt.Fprintf(cmp.Or(o.Text, o.Out), format, args...)
	return err
}

// keepNothing keeps what a session leaves behind, which a change needs to be undone, in
// a folder that goes with the demo.
func keepNothing() (leave func(), err error) {
	state, err := os.MkdirTemp("", "haft-demo-state-")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"HAFT_HOME", "CLAUDE_CONFIG_DIR"} {
		if err := os.Setenv(name, state); err != nil {
			return nil, errors.Join(err, os.RemoveAll(state))
		}
	}
	return func() { os.RemoveAll(state) }, nil
}
