package acp

import (
	"cmp"
	"slices"

	"github.com/haftdev/haft/internal/guard/permission"
	"github.com/haftdev/haft/internal/models/catalog"
)

// Options of a session that the user can change.
const (
	optionMode   = "mode"
	optionModel  = "model"
	optionEffort = "effort"
)

// modeNames are what modes are called for people, and what they mean.
var modeNames = map[permission.Mode][2]string{
	permission.Plan:        {"Plan", "Explore and plan; change nothing"},
	permission.DontAsk:     {"Don't ask", "Deny instead of asking"},
	permission.Default:     {"Default", "Ask before anything that is not read-only"},
	permission.AcceptEdits: {"Accept edits", "Edit files in the project without asking"},
	permission.Auto:        {"Auto", "Let a classifier decide first, and ask about the rest"},
	permission.Bypass:      {"Bypass permissions", "Never ask; deny rules still apply"},
}

// modes are the permission modes that the session may change to.
func (s *session) modes() modeState {
	p := s.talk.World.Project
	state := modeState{Current: s.mode()}
	for _, m := range permission.Modes() {
		_, off := p.Counts.Disabled(string(m))
		if off || m == permission.Bypass && (!p.MayBypass() || p.RefusesRoot()) {
			continue
		}
		state.Available = append(state.Available, mode{ID: string(m), Name: modeNames[m][0], Description: modeNames[m][1]})
	}
	return state
}

func (s *session) mode() string { return string(s.talk.World.Engine.Policy().Mode()) }

// change changes something about a session at once, and answers when the client was told
// what it led to.
func (s *server) change(r *request) {
	answer := (*session).setMode
	if r.method == methodSetOption {
		answer = (*session).setOption
	}
	ses, err := s.find(r)
	if err != nil {
		r.reply(nil, err)
		return
	}
	reply, err := answer(ses, r)
	s.spawn(r, func() {
		if err == nil {
			ses.drive.Settle(r.ctx)
		}
		r.reply(reply, err)
	})
}

// setMode changes the permission mode.
func (s *session) setMode(r *request) (any, error) {
	var p struct {
		Mode string `json:"modeId"`
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	return object{}, s.useMode(p.Mode)
}

func (s *session) useMode(mode string) error {
	if mode == "" {
		return errorf(codeInvalidParams, "modeId is missing.")
	}
	if err := s.drive.SetMode(mode); err != nil {
		return errorf(codeInvalidParams, "Could not change the mode: %v", err)
	}
	s.drive.Wake()
	return nil
}

// options are all options with their values.
func (s *session) options() []configOption {
	modes := s.modes()
	list := []configOption{{Type: "select", ID: optionMode, Name: "Mode", Description: "What needs approval", Category: "mode", Current: modes.Current}}
	for _, m := range modes.Available {
		list[0].Options = append(list[0].Options, configValue{m.ID, m.Name, m.Description})
	}
	list = append(list, configOption{Type: "select", ID: optionModel, Name: "Model", Category: "model", Current: s.model(), Options: s.models()})
	known := catalog.Lookup(s.model())
	if len(known.Efforts) == 0 {
		return list
	}
	effort := configOption{Type: "select", ID: optionEffort, Name: "Effort", Description: "How much the model thinks", Category: "thought_level"}
	effort.Current = cmp.Or(s.talk.Agent.Effort(), known.Effort, known.Efforts[0])
	effort.Current = known.TakesEffort(effort.Current)
	for _, level := range known.Efforts {
		effort.Options = append(effort.Options, configValue{Value: level, Name: level})
	}
	return append(list, effort)
}

// model is the one that is asked next.
func (s *session) model() string { return s.talk.Agent.ContextUsage().Model }

// models are those that can be chosen: the current one, and where Claude answers those
// that have a short name.
func (s *session) models() []configValue {
	names := []string{s.model()}
	if slices.Contains([]string{"anthropic", "given", "bedrock", "vertex", "foundry"}, s.talk.Provider) {
		for _, alias := range []string{"opus", "sonnet", "haiku"} {
			names = append(names, catalog.Resolve(alias))
		}
	}
	var list []configValue
	for i, name := range names {
		if slices.Index(names, name) < i {
			continue
		}
		m := catalog.Lookup(name)
		list = append(list, configValue{name, cmp.Or(m.Name, name), m.About()})
	}
	return list
}

// setOption changes an option, and answers with all of them.
func (s *session) setOption(r *request) (any, error) {
	var p struct {
		ID    string `json:"configId"`
		Value string `json:"value"`
	}
	if err := r.read(&p); err != nil {
		return nil, err
	}
	if err := s.choose(p.ID, p.Value); err != nil {
		return nil, err
	}
	s.drive.Wake()
	return map[string]any{"configOptions": s.options()}, nil
}

func (s *session) choose(id, value string) error {
	all := s.options()
	i := slices.IndexFunc(all, func(o configOption) bool { return o.ID == id })
	switch {
	case i < 0:
		return errorf(codeInvalidParams, "There is no option %q.", id)
	case !slices.ContainsFunc(all[i].Options, func(v configValue) bool { return v.Value == value }):
		return errorf(codeInvalidParams, "The option %s does not accept %q.", id, value)
	}
	switch id {
	case optionMode:
		return s.useMode(value)
	case optionModel:
		s.drive.SetModel(value)
	case optionEffort:
		s.talk.Agent.SetEffort(value)
	}
	return nil
}
