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
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/front/plain"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/near"
	"github.com/haftdev/haft/internal/world/sandbox"
	"github.com/haftdev/haft/internal/world/shellrun"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/tool"
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

// haft is this program as a process of its own, in the repository of the scene.
func (o *Options) haft(ctx context.Context, st *stage, prompt string, more ...string) *exec.Cmd {
	args := append([]string{"-p", prompt, "--verbose", "--model", "claude-sonnet-5", "--setting-sources", "", "--lang", o.Lang.Name()}, more...)
	for _, rule := range st.allow {
		args = append(args, "--allowedTools", rule)
	}
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir = st.dir
	cmd.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+st.server.URL(), "ANTHROPIC_API_KEY=scripted")
	cmd.Stderr = o.Out // which --verbose makes the whole story; standard output would repeat the answer
	return cmd
}

func (o *Options) play(ctx context.Context, s scene) error {
	if s.ready != nil {
		if err := s.ready(); err != nil {
			return err
		}
	}
	dir, err := repository()
	if err != nil {
		return err
	}
	if o.Keep {
		defer fmt.Fprintln(o.Err, o.Lang.T("The repository is in %s", dir))
	} else {
		defer os.RemoveAll(dir)
	}
	server, err := script.Serve(&script.Options{Scenario: paced(spoken(s.script(dir), o.Lang), o.Quick)})
	if err != nil {
		return fmt.Errorf("could not serve the scripted model: %w", err)
	}
	defer server.Close()
	o.print("%s\n", o.Lang.T("haft demo %s: the model is SCRIPTED, served at %s. Everything else is real.", s.name, server.URL()))
	o.print("%s\n\n> %s\n\n", strings.ReplaceAll(o.Lang.T(s.intro), "DIR", dir), o.Lang.T(s.prompt))
	if lost := o.lost(); lost != "" {
		o.print("%s\n\n", o.Lang.T("%s 'haft doctor' says what would change that.", lost))
	}
	play := s.play
	if play == nil {
		play = converse
	}
	if err := play(ctx, o, &stage{scene: s, dir: dir, server: server}); err != nil {
		return err
	}
	if s.check != nil {
		if err := s.check(ctx, dir); err != nil {
			return err
		}
	}
	if refused := server.Refused(); len(refused) > 0 { // the model is scripted, but it is as strict as the real API
		return fmt.Errorf("the demo sent something that the Messages API rejects: %s", strings.Join(refused, "; "))
	}
	return o.print("\n%s\n", o.Lang.T("That was scripted. %s", o.Lang.T(s.next)))
}

// lost says what commands cannot have on this machine, so that nobody wonders why they are not confined.
func (o *Options) lost() string {
	host := shellrun.NewHost(&shellrun.Options{Reexec: o.Reexec, NoProfile: true})
	defer host.Close()
	return host.Tier(sandbox.Offline).Lost()
}

// repository writes the repository into a new folder.
func repository() (string, error) {
	dir, err := os.MkdirTemp("", "haft-demo-")
	if err != nil {
		return "", err
	}
	names, err := files.ReadDir("repository")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		content, err := files.ReadFile("repository/" + name.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.TrimSuffix(name.Name(), ".txt")), content, 0o644)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// spoken lets the model speak the user's language.
func spoken(s *script.Scenario, words *lang.Catalogue) *script.Scenario {
	for _, turns := range conversations(s) {
		for _, turn := range turns {
			for i, b := range turn.Blocks {
				if b.Text != "" {
					turn.Blocks[i].Text = words.T(lang.Text(b.Text))
				}
			}
		}
	}
	return s
}

// conversations are the turns of the main agent, and those of each other.
func conversations(s *script.Scenario) [][]script.Turn {
	all := [][]script.Turn{s.Turns}
	for _, part := range s.Parts {
		all = append(all, part.Turns)
	}
	return all
}

// paced lets the model write at the speed of a reader. Its answers cost nothing: a user of
// the demo must not believe that it spends money.
func paced(s *script.Scenario, quick bool) *script.Scenario {
	pause := 25 // milliseconds
	if quick {
		pause = 0
	}
	for _, part := range conversations(s) {
		for i := range part {
			part[i].Delta, part[i].Usage = pause, &model.Usage{}
		}
	}
	return s
}

// converse lets the model work in a conversation of this process, and shows it.
func converse(ctx context.Context, o *Options, st *stage) error {
	w, err := harness.Open(&harness.Options{
		Dir: st.dir, Reexec: o.Reexec, Sources: []settings.Source{}, // what the user has set is not part of the demo
		Allowed: st.allow, Disallowed: st.deny, Settings: `{"todoTools":"todos"}`,
	})
	if err != nil {
		return err
	}
	talk, err := w.Talk(ctx, &harness.TalkOptions{
		Client: anthropic.New(&anthropic.Options{BaseURL: st.server.URL(), Key: "none"}), Model: "claude-opus-5-5", Person: o, Interactive: true, Version: o.Version,
	})
	if err != nil {
		return errors.Join(err, w.Close())
	}
	defer talk.Close(context.WithoutCancel(ctx))
	talk.Send(agent.Prompt{Content: []model.Block{model.TextOf(o.Lang.T(st.prompt))}})
	show := plain.New(cmp.Or(o.Story, o.Out), &plain.Options{Lang: o.Lang, Color: o.Color, Verdicts: true, Asks: true})
	var last agent.Result
	for ev, err := range talk.Run(ctx) {
		if ctx.Err() != nil { // the command says so, once
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if n, ok := ev.(agent.Notice); ok && n.Tag == "sandbox" {
			continue // which was said before the scene began
		}
		if err := show.Show(ev); err != nil {
			return err
		}
		if r, ok := ev.(agent.Result); ok {
			last = r
		}
	}
	if last.Reason != agent.Completed {
		return fmt.Errorf("the demo ended early: %s %s", last.Reason, strings.Join(last.Errors, "; "))
	}
	return nil
}

// Ask asks about a change as a conversation does. Where nobody can answer, the demo
// allows what it has shown.
func (o *Options) Ask(ctx context.Context, c tool.Case, q tool.Verdict) (tool.Verdict, error) {
	o.print("%s", plain.Question(c, q, o.Lang))
	allow := tool.Verdict{Behavior: tool.Allow, Reason: "the demo allows what it just showed"}
	if o.Quick || o.ReadLine == nil {
		o.print("%s\n", o.Lang.T("(You would answer here. The demo answers yes.)"))
		return allow, nil
	}
	for {
		o.print("%s > ", o.Lang.T("enter: allow · n: deny"))
		line, err := o.ReadLine(ctx)
		if err != nil {
			return tool.Verdict{}, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "", "y", "yes":
			allow.Reason = "the user allowed it"
			return allow, nil
		case "n", "no":
			return tool.Verdict{Behavior: tool.Deny, Reason: "the user denied it", Message: "The user does not want this."}, nil
		}
		o.print("%s\n", o.Lang.T("Press enter to allow it, or type n to deny it."))
	}
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
