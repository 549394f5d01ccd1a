package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/haftdev/haft/model"
)

// A reading is the conversation that ends at one message of a journal.
type reading struct {
	chain  []*line // first to last
	beside []*line // other lines before the end of the file, in order
	lines  []*line // of the conversation and about it, in the order of the file
	tally  tally   // of lines
	all    tally   // of what came later, too
	calls  map[string][]Call
	torn   bool
	damage int

	prefix *prefix  // what comes before the chain, nil for nothing
	end    int64    // of the journal when it was read
	named  []string // UUIDs of all lines that were read
	lost   int      // calls without a result
}

// read reads a journal backwards to where the last conversation of an agent begins: a
// compaction or the start. At names the message that it ends with; "" is the last one. It
// reads no more of the file than necessary.
func read(ctx context.Context, path, agent, at string) (*reading, error) {
	t, err := openTail(path)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.read(ctx, agent, at)
}

// read is [read] for what the stream writes to.
func (st *stream) read(ctx context.Context, agent, at string) (*reading, error) {
	t, err := st.tailOf(ctx)
	if err != nil {
		return nil, err
	}
	defer t.close()
	return t.read(ctx, agent, at)
}

func (t *tail) read(ctx context.Context, agent, at string) (*reading, error) {
	r := &reading{}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := t.grow(); err != nil {
			return nil, err
		}
		tree := plant(t.lines)
		tree.side = agent != ""
		if chain, ok := tree.chain(at, t.whole(), t.damaged > 0); ok {
			r.take(t, tree, chain, at)
			return r, nil
		}
		if t.whole() {
			return nil, fmt.Errorf("%w: %s", ErrNoMessage, at)
		}
	}
}

// ErrNoMessage is the error for a message to resume at that is not in the session.
var ErrNoMessage = errors.New("no such message")

// take keeps what belongs to a chain. Facts recorded after its last message count only if
// the chain is the end of the journal.
func (r *reading) take(t *tail, tree *tree, chain []*line, at string) {
	chain = tree.withSiblings(chain)
	r.chain, r.damage, r.torn, r.end = chain, t.damaged, t.torn, t.size
	r.calls = map[string][]Call{}
	on := map[*line]bool{}
	for _, l := range chain {
		on[l] = true
	}
	for _, l := range t.lines {
		if l.UUID != "" {
			r.named = append(r.named, l.UUID)
		}
	}
	for _, l := range tree.lines {
		switch x := l.extra(); {
		case x.Call != nil:
			r.calls[x.Call.UseID] = append(r.calls[x.Call.UseID], *x.Call)
		case on[l]:
			r.forgetCalls(l)
		case l.inChain():
			r.beside = append(r.beside, l)
			r.all.leftBehind(l)
			continue
		}
		r.all.add(l)
		if at == "" || l.end <= chain[len(chain)-1].end {
			r.tally.add(l)
			r.lines = append(r.lines, l)
		}
	}
}

// countAll adds what was used after the end of the chain and beside it: it has been used. The
// files are as they were made last.
func (r *reading) countAll() {
	r.tally.usage, r.tally.answer = r.all.usage, r.all.answer
	for _, name := range []string{StateSpent, StateFiles} {
		if now, ok := r.all.states[name]; ok {
			r.tally.set(name, now)
		}
	}
}

// leftBehind counts an answer that is not part of the conversation since it went back: it
// has cost what it has cost.
func (t *tally) leftBehind(l *line) {
	if l.Type != "assistant" || l.IsAPIError || l.sidechain() {
		return
	}
	known := t.model
	t.answered(l.answer())
	t.model = known
}

// forgetCalls drops the steps of earlier calls that had the same id as a call in this
// answer: not all providers use unique ids.
func (r *reading) forgetCalls(l *line) {
	if l.Type != "assistant" {
		return
	}
	m, err := l.message()
	if err != nil {
		return
	}
	for _, b := range m.Content {
		if b.Type == model.ToolUse {
			delete(r.calls, b.ID)
		}
	}
}

// A tree is the messages of some lines by name.
type tree struct {
	lines  []*line // without repetitions and broken compactions
	byUUID map[string]int
	side   bool // it is a sub-agent's
	// preceding is the message before the lines, which ends a chain; "" if it is not known.
	preceding string
}

// plant builds a tree. If a line occurs twice, the first one counts.
func plant(lines []*line) *tree {
	drop := broken(lines)
	t := &tree{byUUID: map[string]int{}}
	for _, l := range lines {
		if !l.inChain() {
			t.lines = append(t.lines, l)
			continue
		}
		if _, again := t.byUUID[l.UUID]; again || drop[l.UUID] || drop[l.extra().SummaryOf] {
			continue
		}
		t.byUUID[l.UUID] = len(t.lines)
		t.lines = append(t.lines, l)
	}
	return t
}

// broken returns the compactions that were not completely written: they are ignored.
func broken(lines []*line) map[string]bool {
	drop, parts := map[string]bool{}, map[string]int{}
	for _, l := range lines {
		if of := l.extra().SummaryOf; of != "" {
			parts[of]++
		}
	}
	for _, l := range lines {
		if s := l.extra().Snapshot; s != nil && parts[l.UUID] < s.Parts {
			drop[l.UUID] = true
		}
	}
	return drop
}

// chain returns the messages up to at, first to last, and whether they are complete. If
// nothing comes before the lines, or if some of them could not be parsed, a message whose
// parent is missing follows the one before it.
func (t *tree) chain(at string, whole, damaged bool) ([]*line, bool) {
	i, ok := t.byUUID[at]
	if at == "" {
		i, ok = t.before(len(t.lines))
		if !ok {
			return nil, whole
		}
	}
	if !ok {
		return nil, false
	}
	var chain []*line
	seen := map[int]bool{}
	for !seen[i] { // a cycle can only be made on purpose; it ends here
		seen[i] = true
		l := t.lines[i]
		chain = append(chain, l)
		parent := l.parent()
		if parent == "" || parent == t.preceding {
			break
		}
		next, ok := t.byUUID[parent]
		if !ok {
			next, ok = t.before(i)
			if !whole && (!damaged || !ok) {
				return nil, false
			}
			if !ok {
				break
			}
		}
		i = next
	}
	slices.Reverse(chain)
	return chain, true
}

// withSiblings adds the blocks of an answer that its chain leaves out. In journals of
// official tools, the result of a call follows that call, so only one of several parallel
// calls is on the path from the end of the conversation to its beginning.
func (t *tree) withSiblings(chain []*line) []*line {
	on := map[string]bool{}
	for _, l := range chain {
		on[l.UUID] = true
	}
	var off []*line
	for _, l := range t.lines {
		if l.Type == "assistant" && l.UUID != "" && !on[l.UUID] {
			off = append(off, l)
		}
	}
	if off == nil {
		return chain
	}
	var whole []*line
	for i, l := range chain {
		whole = append(whole, l)
		if l.Type != "assistant" || i+1 == len(chain) || !chain[i+1].answersCall() {
			continue
		}
		id := l.answer().ID
		for _, s := range off {
			if !on[s.UUID] && on[s.parent()] && id != "" && s.answer().ID == id {
				on[s.UUID] = true
				whole = append(whole, s)
			}
		}
	}
	return whole
}

// answersCall reports whether the line is a result that an official tool wrote. A result of
// ours, whose UUID is derived from the call, follows all blocks of its answer that count.
func (l *line) answersCall() bool {
	if l.Type != "user" || isMadeOfName(l.UUID) {
		return false
	}
	m, err := l.message()
	return err == nil && len(resultsOf(m.Content)) > 0
}

// isMadeOfName reports whether a UUID was derived like those of [ResultUUID], and is not
// random.
func isMadeOfName(uuid string) bool { return len(uuid) == 36 && uuid[14] == '5' }

// before returns the message before the i-th line.
func (t *tree) before(i int) (int, bool) {
	for i--; i >= 0; i-- {
		if l := t.lines[i]; l.inChain() && l.sidechain() == t.side {
			return i, true
		}
	}
	return 0, false
}

// sidechain reports whether the line belongs to a sub-agent's conversation, which older
// tools wrote into the same file.
func (l *line) sidechain() bool { return l.IsSidechain != nil && *l.IsSidechain }
