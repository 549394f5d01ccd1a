package launch

import (
	"fmt"

	"github.com/spf13/pflag"
)

// foreign are the flags of Claude Code that mean nothing to haft, with the reason that
// the user is given. A script that passes one runs, and is told.
var foreign = []foreignFlag{
	{"autocompact", "", required, "haft compacts when the model's window is nearly full"},
	{"ax-screen-reader", "", none, "use --plain"},
	{"await-claim", "", none, "haft works in the folder that it was started in"},
	{"background", "", none, "the session runs here; use 'haft -p … &' to run it in the background"},
	{"bg", "", none, "the session runs here; use 'haft -p … &' to run it in the background"},
	{"brief", "", none, "haft has no tool that sends messages other than the answer"},
	{"channels", "", list, "haft has no channels"},
	{"chrome", "", none, "haft does not control a browser"},
	{"cloud", "", optional, "haft has no cloud: the session runs here"},
	{"desktop", "", none, "haft has no desktop app"},
	{"environment", "", required, "haft has no cloud: the session runs here"},
	{"exclude-dynamic-system-prompt-sections", "", none, "haft's system prompt has no such sections: they are in the first message"},
	{"file", "", list, "haft does not download files at startup; put the file into the folder"},
	{"from-pr", "", optional, "haft does not link sessions to pull requests; use --resume"},
	{"ide", "", none, "editors start 'haft acp' instead"},
	{"no-chrome", "", none, "haft does not control a browser"},
	{"plugin-url", "", required, "haft does not download plugins at startup; use --plugin-dir"},
	{"project-config-root", "", required, "a project's settings are those of the folder that haft works in, and need your trust"},
	{"prompt-suggestions", "", optional, "haft does not suggest prompts"},
	{"remote-control", "", optional, "use 'haft serve' to control sessions remotely"},
	{"remote-control-session-name-prefix", "", required, "use 'haft serve' to control sessions remotely"},
	{"system-prompt-snapshot", "", required, "haft always keeps a conversation's system prompt"},
	{"teleport", "", optional, "haft has no cloud sessions; use --resume for a session on this machine"},
	{"tmux", "", optional, "start haft in tmux yourself"},
}

// A foreignFlag is one of them.
type foreignFlag struct {
	name, short string
	value       value
	why         string
}

// A value is whether a flag has one.
type value int

const (
	none value = iota
	optional
	required
	list
)

// Ineffective says which of the flags that were given mean nothing here, and what to do
// instead.
func Ineffective(fs *pflag.FlagSet) []string {
	var notes []string
	for _, x := range foreign {
		if fs.Changed(x.name) {
			notes = append(notes, fmt.Sprintf("--%s has no effect: %s", x.name, x.why))
		}
	}
	return notes
}
