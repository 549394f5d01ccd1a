package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/haftdev/haft/internal/text/plainjson"
)

// AgentMeta is what a session stores about a sub-agent beside its journal, where the
// official tools look for the call that it belongs to.
type AgentMeta struct {
	Type        string `json:"agentType"`
	Description string `json:"description"`
	// UseID is the call that the agent works for, Parent the agent that made it; "" is the
	// main conversation.
	UseID  string `json:"toolUseId"`
	Parent string `json:"parentAgentId,omitempty"`
	Depth  int    `json:"spawnDepth"`
}

// DescribeAgent records what a sub-agent is for, if the session is in files.
func (s *Session) DescribeAgent(agent string, m AgentMeta) error {
	if s.silent() || s.logs != nil {
		return nil
	}
	path := filepath.Join(s.Dir(), "subagents", "agent-"+fileName(agent)+".meta.json")
	raw, err := plainjson.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = replace(path, raw)
	}
	if err != nil {
		return fmt.Errorf("could not save the description of agent %s: %w", agent, err)
	}
	return nil
}

// Agent returns the journal of a sub-agent's conversation, which entries of that agent
// continue from then on. It is called before the first of them. The error is an
// [io/fs.ErrNotExist] if the sub-agent has no journal.
func (s *Session) Agent(ctx context.Context, agent string) (*Restored, error) {
	if s.silent() {
		return newRestored(), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.stream(ctx, agent)
	if err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", agent, err)
	}
	r, err := st.read(ctx, agent, "")
	if err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", agent, err)
	}
	st.torn, st.tail = r.torn, r.last()
	to := newRestored()
	for _, l := range r.chain {
		s.blobs.restore(ctx, l)
	}
	messages, lost := fold(r.chain, r.beside, r.calls)
	if err := to.History.Append(messages...); err != nil {
		return nil, fmt.Errorf("resume agent %s: %w", agent, err)
	}
	to.take(r)
	for _, u := range lost {
		to.Lost = append(to.Lost, u.call)
		repair := s.repair(&u, r.calls[u.block.ID])
		repair.Agent = agent
		s.repairs = append(s.repairs, repair)
	}
	return to, nil
}

// Rest syncs and closes the log of a sub-agent that has nothing to write for now. The next
// entry opens it again.
func (s *Session) Rest(agent string) error {
	if s.silent() || agent == "" {
		return nil
	}
	s.mu.Lock()
	var err error
	if slices.ContainsFunc(s.held, func(e Entry) bool { return e.Agent == agent }) {
		if err = s.writable(context.Background()); err == nil {
			err = s.writeGroup(context.Background(), agent, nil) // later it would open the log again
		}
	}
	st := s.streams[agent]
	s.mu.Unlock()
	if st == nil {
		return err
	}
	return errors.Join(err, st.close())
}
