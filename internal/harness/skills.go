package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/internal/harness/link"
	"github.com/haftdev/haft/session"
)

// stateSkill is followed by the agent, a blank and the name: the text of a skill that the
// agent has loaded and follows.
const stateSkill = "skill:"

// How much of the loaded skills a compaction carries over, in characters: of one skill and
// of all.
const (
	maxSkill  = 20_000
	maxSkills = 60_000
)

// skillTexts are those of the skills that agents have loaded. A compaction does not lose
// them: the Skill tool tells the model that they stay.
type skillTexts struct {
	link *link.Link

	mu sync.Mutex
	of map[string][]skillText // by agent, the last one loaded at the end
}

type skillText struct{ name, text string }

// loaded notes a skill.
func (s *skillTexts) loaded(agent, name, text string) {
	s.note(agent, name, text)
	s.link.Save(stateSkill+agent+" "+name, text)
}

func (s *skillTexts) note(agent, name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[string][]skillText)
	}
	if r := []rune(text); len(r) > maxSkill {
		text = string(r[:maxSkill]) + "\n[The rest is left out. Load the skill again if you need it.]"
	}
	known := slices.DeleteFunc(s.of[agent], func(t skillText) bool { return t.name == name })
	s.of[agent] = append(known, skillText{name, text})
}

// recall restores what an earlier process of the session has stored. The order is lost.
func (s *skillTexts) recall(r *session.Restored) {
	for name := range r.States {
		about, ok := strings.CutPrefix(name, stateSkill)
		agent, skill, _ := strings.Cut(about, " ")
		if text := state[string](r, name); ok && text != "" {
			s.note(agent, skill, text)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, texts := range s.of {
		slices.SortFunc(texts, func(a, b skillText) int { return cmp.Compare(a.name, b.name) })
	}
}

// clear forgets those of the main conversation, which starts again.
func (s *skillTexts) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, "")
}

// carry is what an agent needs to know of its skills after a compaction: if there is not
// enough room, those it loaded last come first.
func (s *skillTexts) carry(agent string) (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := maxSkills
	var left []string
	for _, t := range slices.Backward(s.of[agent]) {
		if room -= len(t.text); room < 0 {
			left = append(left, t.name)
			continue
		}
		texts = append(texts, "You have loaded the skill "+t.name+". Its text:\n"+t.text)
	}
	if left != nil {
		texts = append(texts, fmt.Sprintf("You have also loaded these skills, whose text is no longer in the conversation; load them again if you need them: %s", strings.Join(left, ", ")))
	}
	return texts
}
