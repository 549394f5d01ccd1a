package worker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The rules by which two workers and a server share a run, as a machine small enough to try every order of its steps:
// leases, the fence of the journal, calls with effects, outcomes, and a server that restarts. [TestNoOrderOfStepsIsWrong]
// tries them all; the breakers show that the rules are needed, for without any of them some order is wrong.

// A worker's next step.
const (
	resting = iota // it leads nothing
	opened         // it has read where the journal ends
	ready          // it has read that the prompt has no outcome
	failing        // it cannot run the turn, and has found the journal as it left it
	began          // its call is in the journal
	ran            // its call has run
	wrote          // the result is in the journal
	ended          // the turn has an answer in the journal
	settled        // the prompt has its outcome
)

// modelWorker is what a worker knows.
type modelWorker struct {
	step int
	end  int // of the journal, as it knows it
}

// A modelState is everything.
type modelState struct {
	workers  [2]modelWorker
	task     bool
	holder   int  // who has the lease; -1 is nobody, less is somebody who was killed
	overdue  bool // a worker that was overtaken has failed the prompt
	journal  string
	outcomes string
	effects  int
	restarts int // that are left
	kills    int
	expiries int
}

// breakers turn off one rule each.
type breakers struct{ noFence, failUnchecked, secondOutcome, callFirst, repeatUnknown bool }

// Entries of the journal: the prompt, a call, its result or that it is unknown, and the answer.
const (
	entryPrompt  = 'p'
	entryCall    = 'c'
	entryResult  = 'r'
	entryUnknown = 'u'
	entryAnswer  = 'a'
)

// next returns all states that one step leads to.
func (s modelState) next(b breakers) (list []modelState) {
	for i := range s.workers {
		list = append(list, s.work(i, b)...)
		if s.kills > 0 && s.workers[i].step != resting {
			n := s.drop(i) // another process takes its place
			n.kills--
			list = append(list, n)
		}
	}
	if s.holder != -1 && (s.holder < 0 || s.expiries > 0) { // the lease of the dead, or of somebody who was away
		n := s
		if s.holder >= 0 {
			n.expiries--
		}
		n.holder = -1
		list = append(list, n)
	}
	if s.restarts > 0 { // what was acknowledged stays; who waits for an answer does not know what became of it
		n := s
		n.restarts--
		if n.holder >= 0 {
			n.holder = -1 // away for longer than the lease
		}
		list = append(list, n)
	}
	return list
}

// work returns the next steps of a worker.
func (s modelState) work(i int, b breakers) []modelState {
	w := &s.workers[i]
	switch w.step {
	case resting:
		if !s.task || s.holder != -1 {
			return nil
		}
		s.holder, w.step, w.end = i, opened, len(s.journal)
	case opened:
		if w.step = ready; s.outcomes != "" {
			w.step = settled
		}
	case failing:
		s = s.settle(i, b, 'F')
	case ready:
		return append(s.turn(i, b), s.fail(i, b)...)
	case began:
		s.effects++
		w.step = ran
	case ran:
		if b.callFirst {
			if s = s.appends(i, b, entryCall); s.workers[i].step == resting {
				break
			}
		}
		s = s.appends(i, b, entryResult)
	case wrote:
		s = s.appends(i, b, entryAnswer)
	case ended:
		s = s.settle(i, b, 'A')
	case settled:
		if s.holder == i {
			s.task, s.holder = false, -1
		}
		*w = modelWorker{}
	}
	return []modelState{s}
}

// appends adds an entry, unless another worker has: then this one is fenced, and settles nothing.
func (s modelState) appends(i int, b breakers, entry rune) modelState {
	w := &s.workers[i]
	if w.end != len(s.journal) && !b.noFence {
		return s.drop(i)
	}
	s.journal += string(entry)
	w.end = len(s.journal)
	w.step = map[rune]int{entryPrompt: ready, entryCall: began, entryResult: wrote, entryUnknown: wrote, entryAnswer: ended}[entry]
	return s
}

// drop lets a worker lead nothing any more. Its lease has still to expire.
func (s modelState) drop(i int) modelState {
	s.workers[i] = modelWorker{}
	if s.holder == i {
		s.holder = -2 - i
	}
	return s
}

// settle gives the prompt an outcome. The first one counts.
func (s modelState) settle(i int, b breakers, outcome rune) modelState {
	if s.outcomes == "" || b.secondOutcome {
		s.outcomes += string(outcome)
	}
	s.workers[i].step = settled
	return s
}

// turn begins or continues the turn, as the journal says.
func (s modelState) turn(i int, b breakers) []modelState {
	w := &s.workers[i]
	known := s.journal[:w.end]
	switch {
	case known == "":
		return []modelState{s.appends(i, b, entryPrompt)}
	case strings.ContainsRune(known, entryAnswer): // only its outcome is missing
		w.step = ended
	case strings.HasSuffix(known, string(entryCall)) && !b.repeatUnknown:
		return []modelState{s.appends(i, b, entryUnknown)}
	case strings.HasSuffix(known, string(entryResult)), strings.HasSuffix(known, string(entryUnknown)):
		w.step = wrote
	case b.callFirst:
		w.step = began
	default:
		return []modelState{s.appends(i, b, entryCall)}
	}
	return []modelState{s}
}

// fail ends a turn before it has written anything, such as one whose flags nobody knows. If another worker has written
// meanwhile, it is the other's to fail.
func (s modelState) fail(i int, b breakers) []modelState {
	switch w := &s.workers[i]; {
	case w.end > 0:
		return nil
	case w.end != len(s.journal) && !b.failUnchecked:
		s = s.drop(i)
	default:
		w.step, s.overdue = failing, w.end != len(s.journal)
	}
	return []modelState{s}
}

// wrong says what is wrong with a state; "" if nothing is.
func (s modelState) wrong() string {
	switch {
	case s.effects > 1:
		return "the call ran twice"
	case len(s.outcomes) > 1:
		return "the prompt has two outcomes"
	case strings.Count(s.journal, string(entryAnswer)) > 1, strings.Count(s.journal, string(entryPrompt)) > 1:
		return "the journal has something twice"
	case s.overdue && strings.HasPrefix(s.outcomes, "F"):
		return "a worker that was overtaken has failed the prompt"
	case !s.task && s.outcomes == "":
		return "the prompt was lost"
	}
	return ""
}

// explore tries every order of steps and returns the first that goes wrong, and how many states there are. Every state
// must be able to end.
func explore(b breakers) (wrong string, states int) {
	began := modelState{task: true, holder: -1, restarts: 1, kills: 1, expiries: 2}
	seen, todo := map[modelState]bool{began: true}, []modelState{began}
	before := map[modelState][]modelState{}
	var ends []modelState
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if wrong := s.wrong(); wrong != "" {
			return fmt.Sprintf("%s: %+v", wrong, s), len(seen)
		}
		if !s.task && s.outcomes != "" {
			ends = append(ends, s)
		}
		for _, n := range s.next(b) {
			before[n] = append(before[n], s)
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	can := map[modelState]bool{}
	for len(ends) > 0 {
		s := ends[len(ends)-1]
		if ends = ends[:len(ends)-1]; can[s] {
			continue
		}
		can[s] = true
		ends = slices.Concat(ends, before[s])
	}
	for s := range seen {
		if !can[s] {
			return fmt.Sprintf("it never ends: %+v", s), len(seen)
		}
	}
	return "", len(seen)
}

// Two workers, of which one may be killed and either may lose its lease, and a server that restarts once: in no order of
// their steps does a call run twice, does a prompt get two outcomes or none, is an entry lost, or does a worker fail a
// prompt that another one had begun. Without any one of the rules, some order does. (Two workers that both have the run
// before anything is written may differ: then the first outcome counts.)
func TestNoOrderOfStepsIsWrong(t *testing.T) {
	wrong, states := explore(breakers{})
	if wrong != "" || states < 1000 {
		t.Errorf("%d states: %s", states, wrong)
	}
	t.Logf("%d states", states)
	for rule, b := range map[string]breakers{
		"the journal is fenced": {noFence: true}, "a failure looks at the journal first": {failUnchecked: true}, "the first outcome counts": {secondOutcome: true},
		"a call is written before it runs": {callFirst: true}, "what is unknown is not repeated": {repeatUnknown: true},
	} {
		if wrong, _ := explore(b); wrong == "" {
			t.Errorf("nothing is wrong without the rule that %s", rule)
		}
	}
}
