package headless

import (
	"encoding/json"
	"slices"

	"github.com/haftdev/haft/internal/harness"
	"github.com/haftdev/haft/settings"
	"github.com/haftdev/haft/wire"
)

// sourceNames are the sources of settings as the wire spells them.
var sourceNames = map[settings.Source]string{
	settings.Managed: "policySettings", settings.Session: "session", settings.Flag: "flagSettings",
	settings.Local: "localSettings", settings.Project: "projectSettings", settings.User: "userSettings",
}

// settings are those that count, of each file and of all together.
func (s *server) settings(talk *harness.Conversation) any {
	reply := wire.GetSettingsReply{Effective: make(map[string]json.RawMessage)}
	for _, f := range slices.Backward(talk.World.Project.Counts.Files()) {
		value, ok := f.Value()
		if !ok {
			continue
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal(value.JSON, &keys) != nil {
			continue
		}
		for key, v := range keys {
			reply.Effective[key] = joined(reply.Effective[key], v)
		}
		reply.Sources = append(reply.Sources, wire.SourceSettings{Source: sourceNames[f.Source], Settings: value.JSON})
	}
	reply.Applied.Model = talk.ContextUsage().Model
	return reply
}

// joined is what two files say of one key: lists and objects join, of other values
// the second goes before.
func joined(below, above json.RawMessage) json.RawMessage {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(below, &a) == nil && json.Unmarshal(above, &b) == nil && a != nil {
		for key, v := range b {
			a[key] = joined(a[key], v)
		}
		return mustJSON(a)
	}
	var x, y []json.RawMessage
	if json.Unmarshal(below, &x) == nil && json.Unmarshal(above, &y) == nil && x != nil {
		return mustJSON(append(x, y...))
	}
	return above
}
