package sysprompt

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/haftdev/haft/internal/knowledge/instructions"
	"github.com/haftdev/haft/internal/knowledge/skill"
)

// Nested tells each agent the instructions of the folders that it comes to. It is safe
// for concurrent use.
type Nested struct {
	source func() *Source

	mu     sync.Mutex
	agents map[string]*nested
}

// nested is what one agent is told.
type nested struct {
	found   *instructions.Nested
	skills  []skill.Skill // that wait for a file they are for
	earlier []string      // what it was told before this process began
	resumed bool          // until it was told what is new since
	waiting []string      // what it is to be told next
	loaded  []arrival     // files that the hooks have not heard of
	told    []string      // what a compaction makes it forget
}

// An arrival is files that are for one which an agent came to.
type arrival struct {
	trigger string
	files   []instructions.File
}

// maxAgents bounds of how many agents it is known what they were told: a session may start
// thousands, and they can be spoken to after their end.
const maxAgents = 256

// NewNested returns what tells the instructions of source's project. Source is asked
// when an agent reads its first file.
func NewNested(source func() *Source) *Nested {
	return &Nested{source: source, agents: make(map[string]*nested)}
}

// Saw notes that an agent has read a file; "" is the main conversation.
func (n *Nested) Saw(agent, path string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, s := n.of(agent), n.source()
	if a.found == nil {
		a.found, a.skills = s.nested(), s.waitingSkills()
	}
	files, problems := a.found.For(path)
	s.Warn(problems)
	if len(files) > 0 {
		a.loaded = append(a.loaded, arrival{path, files})
	}
	var texts []string
	for _, f := range files {
		texts = append(texts, "These instructions are for work in the folder of "+f.Path+":\n"+f.Text)
	}
	for _, text := range append(texts, a.offer(s.Project.Dir, path)...) {
		if slices.Contains(a.earlier, text) {
			a.told = append(a.told, text)
			continue
		}
		a.waiting = append(a.waiting, text)
	}
}

// offer returns what the model is told about the skills that apply to path; each is offered
// once.
func (a *nested) offer(root, path string) (texts []string) {
	if len(a.skills) == 0 {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the root is one too
	}
	a.skills = slices.DeleteFunc(a.skills, func(s skill.Skill) bool {
		if !s.IsFor(root, path) {
			return false
		}
		s.Paths = nil
		texts = append(texts, "This skill is for files such as "+path+", and the Skill tool can load it now:\n"+skill.Menu([]skill.Skill{s}, 0))
		return true
	})
	return texts
}

// Recall notes what an agent was reminded of before this process began.
func (n *Nested) Recall(agent string, earlier []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.of(agent)
	a.earlier, a.resumed = earlier, true
}

// Clear forgets the main conversation, which begins again.
func (n *Nested) Clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.agents, "")
}

// Tell is the reminder of an agent.
func (n *Nested) Tell(agent string) Reminder {
	return func(ctx context.Context, first bool) []string {
		n.mu.Lock()
		a := n.of(agent)
		loaded := a.loaded
		a.loaded = nil
		n.mu.Unlock()
		for _, l := range loaded {
			n.source().Loaded(ctx, agent, l.trigger, l.files)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		a = n.of(agent)
		texts := a.waiting
		a.waiting, a.told = nil, append(a.told, texts...)
		if first && !a.resumed { // a compaction has made it forget
			return slices.Clone(a.told)
		}
		a.resumed = false
		return texts
	}
}

func (n *Nested) of(agent string) *nested {
	a := n.agents[agent]
	if a == nil {
		if len(n.agents) > maxAgents { // one of those that is still at work is told again
			maps.DeleteFunc(n.agents, func(id string, _ *nested) bool { return id != "" })
		}
		a = new(nested)
		n.agents[agent] = a
	}
	return a
}
