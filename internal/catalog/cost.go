package catalog

import "github.com/haftdev/haft/model"

// A Price is in US dollars for a million tokens.
type Price struct {
	From       int64   `json:"from,omitempty"`
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// search is what one of the provider's web searches costs.
const search = 0.01

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
