package agent

import (
	"maps"

	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
)

// A ledger counts tokens and money: how full the context is, and what the session has cost.
type ledger struct {
	opts  *Options
	total map[string]ModelUsage
	// beside is the part that no answer in the journal reports, told whether it was
	// recorded; before is the total cost when the session was resumed.
	beside map[string]model.Usage
	told   bool
	before float64
	// known is how many tokens the provider counted at the last answer, heard an estimate
	// of what was said since.
	known, heard int64
	counted      bool  // known is the provider's word, and not an estimate
	patience     int64 // below it no compaction is tried
}

func newLedger(opts *Options) ledger {
	l := ledger{opts: opts, total: map[string]ModelUsage{}, beside: map[string]model.Usage{}, told: true}
	maps.Copy(l.beside, opts.Beside)
	for _, used := range []map[string]model.Usage{opts.Spent, opts.Beside} {
		for name, u := range used {
			l.spent(name, u)
		}
	}
	for _, u := range l.total {
		l.before += u.Cost
	}
	return l
}

// spent adds a usage to what the session has cost.
func (l *ledger) spent(name string, u model.Usage) {
	total := l.total[name]
	total.Usage = total.Usage.Add(u)
	if l.opts.Cost == nil {
		total.Unpriced = true
	} else if usd, known := l.opts.Cost(name, u); known {
		total.Cost += usd
	} else {
		total.Unpriced = true
	}
	l.total[name] = total
}

// add estimates what the conversation has grown by.
func (l *ledger) add(blocks ...model.Block) { l.heard += estimate(blocks) }

// restart begins again with a conversation that the provider has not counted yet.
func (l *ledger) restart(tokens int64) {
	l.known, l.heard, l.counted, l.patience = tokens, 0, false, 0
}

func (l *ledger) tokens() int64 { return l.known + l.heard }

// answered notes how full the context is after an answer.
func (l *ledger) answered(u model.Usage) {
	if full := u.Context(); full > 0 {
		l.known, l.heard, l.counted = full, 0, true
	}
}

// renew continues in another session, none of whose answers reports what was used.
func (l *ledger) renew() {
	l.told = len(l.total) == 0
	for name, u := range l.total {
		l.beside[name] = u.Usage
	}
	l.restart(0)
}

// What things are worth in tokens before a provider has counted them.
const (
	bytesPerToken = 3.5
	tokensOfImage = 1600
)

func tokensOf(bytes int) int64 { return int64(float64(bytes)/bytesPerToken) + 1 }

func estimate(blocks []model.Block) (tokens int64) {
	for _, b := range blocks {
		switch {
		case b.Type == "image":
			tokens += tokensOfImage
		case b.Type == model.ToolResult && b.Raw == nil:
			for _, c := range b.Content {
				if c.Type == tool.ImageBlock {
					tokens += tokensOfImage
				} else {
					tokens += tokensOf(len(c.Text) + len(c.Data))
				}
			}
		default:
			tokens += tokensOf(len(b.Text) + len(b.Input) + len(b.Raw) + len(b.Data) + len(b.Signature))
		}
	}
	return tokens
}

// Usage returns what the session has cost so far, by model.
func (a *Agent) Usage() map[string]ModelUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.ledger.total)
}

// Spend adds what was used outside the loop, such as by a sub-agent, to the cost of the
// session.
func (a *Agent) Spend(name string, u model.Usage) {
	if u == (model.Usage{}) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ledger.spent(name, u)
	a.ledger.beside[name] = a.ledger.beside[name].Add(u)
	a.ledger.told = false
}

// ContextUsage is how full the model's context is, in tokens.
type ContextUsage struct {
	Model string
	// System, Tools and Messages are estimates of the parts. Total is what the provider
	// counted, plus an estimate of what was added since.
	System, Tools, Messages, Total int64
	Window                         int64
	// CompactAt is the number of tokens at which the conversation is compacted automatically;
	// 0 means never.
	CompactAt int64
}

// ContextUsage returns how full the context is.
func (a *Agent) ContextUsage() ContextUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := ContextUsage{
		Model: a.set.model, System: a.tokensOfSystem(), Tools: tokensOf(len(a.set.tools.Request())),
		Messages: tokensOf(a.talk.history.Size()), Window: a.window(a.set.model), Total: a.estimate(a.set.tools),
	}
	u.CompactAt = a.compactAt(u.Window)
	return u
}

func (a *Agent) tokensOfSystem() (tokens int64) {
	for _, s := range a.opts.System {
		tokens += tokensOf(len(s.Text))
	}
	return tokens
}

func (a *Agent) window(name string) int64 {
	if a.opts.Context.Window != nil {
		if w := a.opts.Context.Window(name); w > 0 {
			return w
		}
	}
	return 200_000
}

// noteResults remembers what the model can see from now on.
func (a *Agent) noteResults(outcomes []*sched.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, out := range outcomes {
		a.talk.note(out)
	}
}

// shown says where the model can see a result; "" if it cannot.
func (a *Agent) shown(out *sched.Outcome) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk.shown(out)
}

// resultLimit is how many characters the results of one message may have: about half of the
// window, which leaves room for what comes after them.
func (a *Agent) resultLimit(model string) int {
	if a.opts.Sched.MessageLimit > 0 {
		return a.opts.Sched.MessageLimit
	}
	return int(a.window(model)) * 2 // a token has about four characters
}

// compactAt is how many tokens of a window are too many; 0 means no limit.
func (a *Agent) compactAt(window int64) int64 {
	switch share := a.opts.Context.CompactAt; {
	case share < 0:
		return 0
	case share == 0:
		return window * 8 / 10
	default:
		return int64(share * float64(window))
	}
}

// History returns the conversation as it would be sent.
func (a *Agent) History() *model.History {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.talk.history.Prefix(a.talk.history.Len())
}
