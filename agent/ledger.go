package agent

import (
	"maps"

	"github.com/haftdev/haft/model"
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
