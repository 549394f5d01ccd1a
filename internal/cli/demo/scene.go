package demo

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/internal/lang"
	"github.com/haftdev/haft/internal/plain"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/model/anthropic"
	"github.com/haftdev/haft/model/script"
	"github.com/haftdev/haft/sandbox"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/shellrun"
	"github.com/haftdev/haft/tool"
)

// A scene is one thing to see.
type scene struct {
	name  string
	title lang.Text
	// intro is said before the prompt; next is what to try afterwards.
	intro, prompt, next lang.Text
	// allow and deny are the rules of the scene.
	allow, deny []string
	// ready says why the scene cannot be played here; nil means that it always can.
	ready func() error
	// script is what the model says in a repository in dir.
	script func(dir string) *script.Scenario
	// play lets the model work, in place of one conversation in this process.
	play func(ctx context.Context, o *Options, st *stage) error
	// check looks at what the scene has done: a demo is not to be believed.
	check func(ctx context.Context, dir string) error
}

// scenes are in the order of the menu. The first needs no choice.
func scenes() []scene {
	return []scene{fixScene(), verdictsScene(), previewScene(), agentsScene(), crashScene()}
}

// A stage is where a scene is played.
type stage struct {
	scene
	dir    string
	server *script.Server
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

// files are the repository of the demo. They end in .txt so that they are no package of
// this module.
//
//go:embed repository/*.txt
var files embed.FS

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

// in is the input of a call.
type in = map[string]any

func call(name string, input in) script.Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic("demo: " + err.Error())
	}
	return script.Block{Tool: name, Input: raw}
}

func bash(command, description string) script.Block {
	return call("Bash", in{"command": command, "description": description})
}

// turn is an answer of the model: what it says, and the calls it makes.
func turn(text lang.Text, calls ...script.Block) script.Turn {
	return script.Turn{Blocks: append([]script.Block{{Text: string(text)}}, calls...)}
}
