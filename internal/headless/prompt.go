package headless

import (
	"encoding/json"

	"github.com/haftdev/haft/agent"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/wire"
)

// deliver takes in what is no control message. Types that mean nothing here are
// passed over: the program may be newer.
func (s *server) deliver(m wire.Message) {
	user, ok := m.(*wire.User)
	if !ok {
		return
	}
	p, err := prompt(user)
	if err != nil {
		s.warn("A prompt could not be read: " + err.Error())
		return
	}
	s.take(heard{p, user.ClientComposed})
}

// heard is a prompt as it came. One that a program has composed is taken literally:
// nothing in it is a command.
type heard struct {
	agent.Prompt
	literal bool
}

// firstWords are what the agent that leads the conversation wants said first.
func firstWords(init *wire.Initialize, name string) []heard {
	if init == nil || init.Agents[name].InitialPrompt == "" {
		return nil
	}
	return []heard{{Prompt: agent.Prompt{Content: []model.Block{model.TextOf(init.Agents[name].InitialPrompt)}}}}
}

// take queues a prompt. Without a conversation the prompt opens one: a program
// need not initialize. A command waits for the turn that runs: it may change what
// the next one begins with, and may have to ask.
func (s *server) take(p heard) {
	s.begin(s.context, nil, p)
	if talk := s.opened(); talk != nil {
		talk.Reconsider()
	}
	s.wake()
}

// accept gives a prompt to the conversation, or keeps it.
func (s *server) accept(p heard) {
	if p.UUID != "" {
		s.tell.follow(p.UUID)
	}
	switch {
	case s.talk == nil:
		s.waiting = append(s.waiting, p)
	case len(s.typed) > 0 || !p.literal && (s.talk.Input().IsCommand(text(p.Prompt)) || s.talk.Input().Mentions(text(p.Prompt))):
		s.typed = append(s.typed, p)
	default:
		s.talk.Send(p.Prompt)
	}
}

// text is what a prompt says, if it is nothing but text.
func text(p agent.Prompt) string {
	if len(p.Content) != 1 || p.Content[0].Type != model.Text {
		return ""
	}
	return p.Content[0].Text
}

// prompt reads a user message.
func prompt(u *wire.User) (agent.Prompt, error) {
	p := agent.Prompt{UUID: u.UUID, Silent: u.ShouldQuery != nil && !*u.ShouldQuery}
	switch u.Priority {
	case "now":
		p.Priority = agent.Now
	case "later":
		p.Priority = agent.Later
	}
	for _, b := range u.Message.Content.All() {
		raw, err := json.Marshal(b)
		if err != nil {
			return p, err
		}
		var block model.Block
		if err := json.Unmarshal(raw, &block); err != nil {
			return p, err
		}
		p.Content = append(p.Content, block)
	}
	return p, nil
}
