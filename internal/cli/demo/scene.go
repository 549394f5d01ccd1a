package demo

import (
	"context"
	"embed"
	"encoding/json"

	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/model/script"
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

// files are the repository of the demo. They end in .txt so that they are no package of
// this module.
//
//go:embed repository/*.txt
var files embed.FS

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
