package answers

import (
	"strings"

	"github.com/haftdev/haft/internal/config/settings"
	"github.com/haftdev/haft/internal/harness"
)

// A Setting is a single value of the settings, as it counts in a conversation.
type Setting struct {
	settings.Knob
	// Value is "" if no file sets it; Origin is where it is set.
	Value  string
	Origin settings.Origin
}

// Settings are the single values that can be set, by their keys.
func Settings(c *harness.Conversation) []Setting {
	var list []Setting
	for _, k := range settings.Knobs() {
		s := Setting{Knob: k}
		if v, ok := c.World.Project.Counts.Lookup(strings.Split(k.Key, ".")...); ok {
			s.Value, s.Origin = strings.Trim(string(v.JSON), `"`), v.Origin
		}
		list = append(list, s)
	}
	return list
}
