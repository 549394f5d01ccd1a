package tui

import (
	"strings"

	"github.com/haftdev/haft/internal/text/lang"
)

// terminalSetup explains how shift+enter and the rest work in this terminal.
func (a *app) terminalSetup(getenv func(string) string) string {
	program, term := strings.ToLower(getenv("TERM_PROGRAM")), getenv("TERM")
	var how lang.Text = "If shift+enter sends the prompt, your terminal does not distinguish it from enter. Map it to send \\n (hex 0a) in the terminal's settings."
	lines := "" // to be copied
	switch {
	case getenv("TMUX") != "":
		how = "In tmux, put these lines into ~/.tmux.conf and run 'tmux source ~/.tmux.conf':"
		lines = "\n  set -s extended-keys on\n  set -as terminal-features 'xterm*:extkeys'\n  set -g focus-events on\n  set -s set-clipboard on"
	case program == "ghostty" || program == "wezterm" || program == "kitty" || strings.Contains(term, "kitty") || strings.HasPrefix(term, "foot"):
		how = "shift+enter already starts a new line here. (WezTerm: set enable_kitty_keyboard = true.)"
	case program == "vscode":
		how = "In VS Code, Cursor and Windsurf, add this to keybindings.json (Preferences: Open Keyboard Shortcuts (JSON)):"
		lines = "\n  " + `{"key": "shift+enter", "command": "workbench.action.terminal.sendSequence", "args": {"text": "\u001b\r"}, "when": "terminalFocus"}`
	case program == "iterm.app":
		how = "In iTerm2: Settings > Profiles > Keys > General > Report modifiers using CSI u. For /copy: Settings > General > Selection > Applications in terminal may access clipboard."
	case program == "apple_terminal":
		how = "In Terminal: Settings > Profiles > Keyboard > Use Option as Meta key; then option+enter starts a new line."
	case getenv("WT_SESSION") != "":
		how = "In Windows Terminal, add this to \"actions\" in settings.json:"
		lines = "\n  " + `{"command": {"action": "sendInput", "input": "\n"}, "keys": "shift+enter"}`
	}
	return a.t(how) + lines + "\n" + a.t("In every terminal, alt+enter, ctrl+j, or \\ before enter starts a new line.") +
		"\n" + a.t("HAFT_THEME and NO_COLOR choose the colours; CLAUDE_CODE_DISABLE_TERMINAL_TITLE=1 leaves the window's title alone.")
}
