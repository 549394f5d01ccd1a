package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
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

func (r *reading) checkDrops(o *ResumeOptions) error {
	after := -1
	for i, l := range r.chain {
		if l.UUID == o.At {
			after = i + 1
		}
	}
	if after < 0 {
		return fmt.Errorf("%w: %s is not in the current conversation", ErrDrops, o.At)
	}
	for _, l := range r.chain[after:] {
		if !l.isMessage() {
			continue
		}
		m, err := l.message()
		if err != nil {
			return err
		}
		if m.prompts() && l.UUID != o.Drops {
			return fmt.Errorf("%w: %s is a different prompt from %s", ErrDrops, l.UUID, o.Drops)
		}
	}
	return nil
}

// resumeHash continues a hash.
func resumeHash(state []byte) (hash.Hash, error) {
	h := sha256.New()
	if len(state) == 0 {
		return h, nil
	}
	u, ok := h.(encoding.BinaryUnmarshaler)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return h, u.UnmarshalBinary(state)
}

func hashState(h hash.Hash) []byte {
	m, ok := h.(encoding.BinaryMarshaler)
	if !ok {
		return nil
	}
	state, err := m.MarshalBinary()
	if err != nil {
		return nil
	}
	return state
}

// extend writes what was read as the prefix of the journal, or adds it to the prefix that
// the reading began with. It does nothing if that is not worthwhile, or if the conversation
// is in the middle of something. If it fails, it is tried again another time.
func (r *reading) extend(path string, journal *os.File, added []model.Message) *prefix {
	covered := int64(0)
	if r.prefix != nil {
		covered = r.prefix.index.Size
	}
	if r.end-covered < prefixStep || r.torn || len(r.chain) == 0 || !r.atRest(added) {
		return r.prefix
	}
	p, err := r.writePrefix(path, journal, added)
	if err != nil {
		dropPrefix(dirOf(path))
		return nil
	}
	return p
}

// atRest reports whether the conversation ends with a complete answer: every call has its
// result, and more was said since.
func (r *reading) atRest(added []model.Message) bool {
	return r.lost == 0 && len(added) > 0 && added[len(added)-1].Role == model.Assistant
}

func (r *reading) writePrefix(path string, journal *os.File, added []model.Message) (*prefix, error) {
	p := &prefix{dir: dirOf(path)}
	if r.prefix != nil {
		p.index = r.prefix.index
	} else {
		dropPrefix(p.dir)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	var encoded model.History
	if err := encoded.Append(added...); err != nil {
		return nil, err
	}
	sum, err := resumeHash(p.index.State)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(sum, io.NewSectionReader(journal, p.index.Size, r.end-p.index.Size)); err != nil {
		return nil, err
	}
	textSum, err := resumeHash(p.index.TextHash)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	table := binary.LittleEndian.AppendUint32(nil, uint32(encoded.Len()))
	table = binary.LittleEndian.AppendUint32(table, uint32(len(r.named)))
	for i := range encoded.Len() {
		text.Write(encoded.JSON(i))
		table = binary.LittleEndian.AppendUint32(table, uint32(len(encoded.JSON(i))))
	}
	for _, uuid := range r.named {
		table = binary.LittleEndian.AppendUint64(table, nameHash(uuid))
	}
	textSum.Write(text.Bytes())
	tableSum, err := resumeHash(p.index.TableHash)
	if err != nil {
		return nil, err
	}
	tableSum.Write(table)
	for name, at := range map[string]struct {
		from int64
		add  []byte
	}{textFile: {p.index.Text, text.Bytes()}, tableFile: {p.index.Table, table}} {
		if err := writeAt(filepath.Join(p.dir, name), at.from, at.add); err != nil {
			return nil, err
		}
	}
	p.index.Text += int64(text.Len())
	p.index.Table += int64(len(table))
	p.index.TableHash, p.index.TableSum = hashState(tableSum), hex.EncodeToString(tableSum.Sum(nil))
	r.fill(&p.index, sum, textSum)
	return p, p.index.save(p.dir)
}

func (r *reading) fill(x *prefixIndex, sum, textSum hash.Hash) {
	x.Version, x.Size, x.Sealed = prefixVersion, r.end, nil
	x.State, x.Sum = hashState(sum), hex.EncodeToString(sum.Sum(nil))
	x.TextHash, x.TextSum = hashState(textSum), hex.EncodeToString(textSum.Sum(nil))
	x.Last, x.Cwd, x.Damage, x.Tally = r.last(), r.cwd(), r.damage, r.all.kept()
}

// session returns what was read as a session that continues in the file at path.
func (r *reading) session(ctx context.Context, path string, o *ResumeOptions) (*Session, error) {
	s := newSession(path, r.origin(o), false)
	return s, r.restore(ctx, s, o)
}

// origin is where a session that continues is.
func (r *reading) origin(o *ResumeOptions) origin {
	where := origin{o.Cwd, o.Version, o.GitBranch}
	if where.cwd == "" {
		where.cwd = r.cwd()
	}
	return where
}

// restore makes a session what was read.
func (r *reading) restore(ctx context.Context, s *Session, o *ResumeOptions) error {
	main := s.streams[""]
	main.torn, main.tail = r.torn, r.last()
	if !o.Fork { // what a fork leaves out is not its cost
		r.countAll()
	}
	s.tally = r.tally
	r.restoreBlobs(ctx, s.blobs)
	messages, lost := fold(r.chain, r.beside, r.calls)
	if r.prefix != nil {
		r.prefix.messages(s.restored.History)
	}
	if err := s.restored.History.Append(messages...); err != nil {
		return err
	}
	s.restored.take(r)
	s.repairs = r.revert()
	if o.At != "" && !o.Fork {
		s.back = r.behind()
	}
	for _, u := range lost {
		s.restored.Lost = append(s.restored.Lost, u.call)
		s.repairs = append(s.repairs, s.repair(&u, r.calls[u.block.ID]))
	}
	if r.lost = len(lost); s.path != "" && o.At == "" && !o.Fork {
		s.prefix = r.keepPrefix(s.path, messages)
	}
	return nil
}

// behind returns how the session is kept at the end of the chain, if messages were written
// after it; nil if it is the end of the journal.
func (r *reading) behind() *Entry {
	if len(r.chain) == 0 {
		return nil
	}
	end := r.chain[len(r.chain)-1].end
	if !slices.ContainsFunc(r.beside, func(l *line) bool { return l.end > end }) {
		return nil
	}
	back := &Back{}
	for _, l := range slices.Backward(r.chain) {
		if m, err := l.message(); err == nil && m.prompts() {
			back.Prompt = firstText(m.Content)
			break
		}
	}
	return &Entry{Back: back}
}

// restoreBlobs puts the long strings of the conversation back.
func (r *reading) restoreBlobs(ctx context.Context, b *blobs) {
	for _, l := range r.chain {
		b.restore(ctx, l)
	}
}

// keepPrefix keeps what was read for the next resume, if that was much.
func (r *reading) keepPrefix(path string, messages []model.Message) *prefix {
	journal, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer journal.Close()
	return r.extend(path, journal, messages)
}

// revert returns entries that reset the states to what they were at the last message, if
// others were written after it.
func (r *reading) revert() (entries []Entry) {
	for name, now := range r.all.states {
		then := r.tally.states[name]
		if bytes.Equal(now, then) {
			continue
		}
		if then == nil {
			then = json.RawMessage("null")
		}
		entries = append(entries, Entry{State: &State{name, then}})
	}
	return entries
}

// lastMessage returns the UUID of what was said last, "" if there is nothing.
func (r *reading) lastMessage() string {
	for i := len(r.chain) - 1; i >= 0; i-- {
		if !r.chain[i].isLink() {
			return r.chain[i].UUID
		}
	}
	return r.last()
}

// last returns the UUID of the line that the next message follows, "" if there is none. It
// is never one that says that the conversation went back: its message is followed.
func (r *reading) last() string {
	for _, l := range slices.Backward(r.chain) {
		if l.extra().Back == nil {
			return l.UUID
		}
	}
	if r.prefix != nil {
		return r.prefix.index.Last
	}
	return ""
}

func (r *reading) cwd() string {
	for i := len(r.chain) - 1; i >= 0; i-- {
		if r.chain[i].Cwd != "" {
			return r.chain[i].Cwd
		}
	}
	if r.prefix != nil {
		return r.prefix.index.Cwd
	}
	return ""
}

// copyTo writes the lines of the conversation as those of another session. Each keeps its
// UUID and records where it is from.
func (r *reading) copyTo(ctx context.Context, path, target string) error {
	from, to := blobsIn(filepath.Dir(path)), blobsIn(filepath.Dir(target))
	j := &stream{log: &journal{path: target, fresh: true}}
	for _, l := range r.lines {
		fork := *l
		if from.dir != to.dir {
			from.restore(ctx, &fork)
		}
		raw, err := fork.forked(ctx, idOf(path), idOf(target), to)
		if err == nil {
			err = j.write(ctx, raw)
		}
		if err != nil {
			return errors.Join(err, j.close())
		}
	}
	return j.close()
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

// before returns the message before the i-th line.
func (t *tree) before(i int) (int, bool) {
	for i--; i >= 0; i-- {
		if l := t.lines[i]; l.inChain() && l.sidechain() == t.side {
			return i, true
		}
	}
	return 0, false
}
