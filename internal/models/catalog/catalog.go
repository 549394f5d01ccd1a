// Package catalog is what haft knows of models by their names: aliases, limits,
// how they think and what they cost. What it does not know it says so, and
// passes through: a model of tomorrow works today, without a price.
//
// Figures are the list prices and limits that providers publish; models.json says as
// of when. Everything here is constant and safe for concurrent use.
package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/haftdev/haft/model"
)

// Default is the model that is used when nobody chose one.
const Default = "claude-opus-5-5"

// Info is what is known of a model.
type Info struct {
	// ID is the provider's name, without a suffix such as [1m].
	ID string
	// Name is for people.
	Name string
	// Known tells whether the model is in the catalog. Of others, the limits are
	// cautious guesses and the price is not known.
	Known bool
	// Context is how many tokens a conversation may have, MaxOutput an answer.
	Context, MaxOutput int
	// Thinking is how the model thinks.
	Thinking Thinking
	// Off is when thinking can be turned off.
	Off Off
	// BindsThinking tells that thoughts are good only in the conversation as it
	// was when they were thought.
	BindsThinking bool
	// Effort is the default of the effort parameter; "" means that the model does
	// not take one. Efforts are the levels that it takes, lowest first.
	Effort  string
	Efforts []string
	// LongContext tells that Context is larger than usual and must be asked for.
	LongContext bool

	price     *Price // nil if it is not known
	longPrice *Price // of longer questions, if that is another one
}

// About says in short how much the model reads and, if that is known, what a million tokens of
// questions and of answers cost: "1M context, $4/$20 per 1M".
func (m Info) About() string {
	context := fmt.Sprintf("%dk context", m.Context/1000)
	if m.Context >= million {
		context = fmt.Sprintf("%gM context", float64(m.Context)/million)
	}
	if m.price == nil {
		return context
	}
	return fmt.Sprintf("%s, $%g/$%g per 1M", context, m.price.Input, m.price.Output)
}

// MaxMedia is how many images, and how many pages of documents, a request may have.
func (m Info) MaxMedia() int {
	if m.Context >= million {
		return 600
	}
	return 100
}

// TakesEffort returns the level that the model takes for one that is wanted: the same, or
// the next lower one, or its lowest; "" if it takes none.
func (m Info) TakesEffort(level string) string {
	if len(m.Efforts) == 0 {
		return ""
	}
	best := m.Efforts[0]
	for _, l := range m.Efforts {
		if slices.Index(efforts, l) <= slices.Index(efforts, level) {
			best = l
		}
	}
	return best
}

// Cost returns what one answer cost in US dollars, and whether that is known.
// Where the price depends on the length of the question, the sum of several
// answers must not be taken for one.
func (m Info) Cost(u model.Usage) (usd float64, known bool) {
	p := m.price
	if p == nil {
		return 0, false
	}
	if m.longPrice != nil && u.Input+u.CacheRead+u.CacheWrite > m.longPrice.From {
		p = m.longPrice
	}
	tokens := float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	return tokens/million + float64(u.Searches)*search, true
}

const million = 1_000_000

var known = sync.OnceValue(prepared)

// efforts are all levels there are, lowest first.
var efforts = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// Thinking is a way to think before an answer.
type Thinking string

const (
	NoThinking Thinking = ""         // or not known
	Budget     Thinking = "enabled"  // within a given number of tokens
	Adaptive   Thinking = "adaptive" // as the question needs, steered by effort
)

// Names returns the models that are known.
func Names() []string { return slices.Sorted(maps.Keys(known().models)) }

// Planner is the model that plans for one that is named opusplan: Opus plans, and Sonnet
// does the work. It is "" for all others.
func Planner(name string) string {
	if base, _, _ := strings.Cut(name, "["); strings.EqualFold(base, "opusplan") {
		return Resolve("opus")
	}
	return ""
}

// Resolve returns the provider's name for an alias such as sonnet or opus[1m];
// the newest models have the long context anyway. Names that it does not know
// stay as they are.
func Resolve(name string) string {
	if name == "" {
		return Default
	}
	base, _, _ := strings.Cut(name, "[")
	if id, ok := known().aliases[strings.ToLower(base)]; ok {
		return id
	}
	return name
}

// snapshot is the date at the end of the name of a fixed version.
var snapshot = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-@](20\d{6}|latest)(-v\d+(:\d+)?)?$`)
})

// Lookup returns what is known of a model. It takes the provider's names and
// those that clouds and gateways make of them, such as anthropic/claude-opus-5.5.
func Lookup(name string) Info {
	id, suffix, long := strings.Cut(name, "[")
	long = long && strings.EqualFold(suffix, "1m]")
	info, ok := known().models[canonical(id)]
	if !ok {
		info = unknown(canonical(id))
	}
	info.ID = id
	if info.Name == "" {
		info.Name = id
	}
	if long && info.Context < million {
		info.Context, info.LongContext = million, true
	}
	return info
}

// canonical strips what clouds and gateways add to a name.
func canonical(id string) string {
	id = strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	if at := strings.Index(id, "claude-"); at > 0 && id[at-1] == '.' {
		id = id[at:]
	}
	if strings.Contains(id, "20") || strings.Contains(id, "latest") { // most names have no date, and need no expression
		id = snapshot().ReplaceAllString(id, "")
	}
	if strings.HasPrefix(id, "claude-") {
		id = strings.ReplaceAll(id, ".", "-")
	}
	return id
}

// unknown guesses: a Claude that we have not heard of is newer than we are, and
// of anything else nothing is assumed.
func unknown(id string) Info {
	if strings.HasPrefix(id, "claude-") && !strings.HasPrefix(id, "claude-3") {
		return Info{Context: 200_000, MaxOutput: 64_000, Thinking: Adaptive, Off: OffNever, Effort: "high", Efforts: []string{"low", "medium", "high", "xhigh", "max"}}
	}
	return Info{Context: 128_000, MaxOutput: 32_000}
}

// search is what one of the provider's web searches costs.
const search = 0.01
