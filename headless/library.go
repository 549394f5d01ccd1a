package headless

import (
	"encoding/json"

	"github.com/haftdev/haft/harness"
	"github.com/haftdev/haft/wire"
)

// reloadSkills looks for skills again. Those that there are now can be called, also
// if the model was not told of them when the session began.
func (s *server) reloadSkills(talk *harness.Conversation) (any, error) {
	reply := wire.ReloadSkillsReply{Skills: wire.List[json.RawMessage]{}}
	for _, sk := range talk.World.Library.Skills.List().Skills {
		raw, err := json.Marshal(map[string]string{"name": sk.Name, "description": sk.Description, "source": sk.Source.String()})
		if err != nil {
			return nil, err
		}
		reply.Skills = append(reply.Skills, raw)
	}
	return reply, nil
}
