package catalog

import "github.com/haftdev/haft/model"

// A price is in US dollars for a million tokens.
type price struct{ input, output, cacheRead, cacheWrite float64 }

// search is what one of the provider's web searches costs.
const search = 0.01

// Cost returns what one answer cost in US dollars, and whether that is known.
// Where the price depends on the length of the question, the sum of several
// answers must not be taken for one.
func (m Info) Cost(u model.Usage) (usd float64, known bool) {
	if !m.Known {
		return 0, false
	}
	p := m.price
	if m.longFrom > 0 && u.Input+u.CacheRead+u.CacheWrite > m.longFrom {
		p = m.longPrice
	}
	tokens := float64(u.Input)*p.input + float64(u.Output)*p.output +
		float64(u.CacheRead)*p.cacheRead + float64(u.CacheWrite)*p.cacheWrite
	return tokens/million + float64(u.Searches)*search, true
}
