package answers

import (
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness/checkpoint"
	"github.com/haftdev/haft/internal/text/lang"
	"github.com/haftdev/haft/internal/text/near"
)

// State is how an agent, a task or a server is, in the words of the user.
func State(words *lang.Catalogue, state string) string {
	return oneOf(words, state, "running", "completed", "failed", "killed", "stopped", "connected", "pending", "disabled", "needs-auth",
		"empty", "stalled", "cancelled", "budget", "error", "moved", "lost")
}

// Action is what is done to a file to bring it back, in the words of the user.
func Action(words *lang.Catalogue, s *checkpoint.Step) string {
	return oneOf(words, s.Action(), "delete", "create", "restore")
}

// oneOf is a word that lower layers have, translated if it is one of those listed.
func oneOf(words *lang.Catalogue, word string, of ...lang.Text) string {
	for _, w := range of {
		if string(w) == word {
			return words.T(w)
		}
	}
	return word
}

// Takes says what a setting may be.
func Takes(words *lang.Catalogue, k settings.Knob) string {
	if least, ok := strings.CutPrefix(k.Takes, "a whole number of at least "); ok {
		return words.T("a whole number of at least %s", least)
	}
	if strings.HasPrefix(k.Takes, "one of ") {
		return words.T("one of %s", strings.Join(k.OneOf, ", "))
	}
	return oneOf(words, k.Takes, "true or false", "a string", "a number")
}

// Near asks whether a name of the candidates was meant; if none is near, it says otherwise.
func Near(words *lang.Catalogue, name string, candidates []string, otherwise lang.Text) string {
	names := near.Names(name, candidates, 2)
	switch len(names) {
	case 0:
		return words.T(otherwise)
	case 1:
		return words.T("Did you mean %s?", names[0])
	}
	return words.T("Did you mean %s or %s?", names[0], names[1])
}
