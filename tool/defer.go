package tool

import "cmp"

// DeferOptions say when there are too many descriptions of foreign tools to send them with
// every request. The zero value defers all of them if they take more than 20,000 tokens, a
// tenth of the usual context, or if there are more than 40.
type DeferOptions struct {
	// Tokens and Count are the limits; 0 means the usual ones, a negative number none.
	Tokens, Count int
	// Always defers foreign tools even if there are few; Never defers no tool at all, and
	// leaves out ToolSearch.
	Always, Never bool
}

// The usual limits. A larger context is no reason to send more: every request pays for it.
const (
	deferTokens = 20_000
	deferCount  = 40
)

// crowded reports whether the foreign tools of a set must be deferred.
func (o DeferOptions) crowded(s *Set) bool {
	if o.Always || o.Never {
		return o.Always
	}
	const bytesPerToken = 3.5
	count, budget := cmp.Or(o.Count, deferCount), int(float64(cmp.Or(o.Tokens, deferTokens))*bytesPerToken)
	n, size := 0, 0
	for _, t := range s.tools {
		if t.Source == "" {
			continue
		}
		n++
		size += len(s.Description(t)) + len(s.View(t).JSON())
		if count > 0 && n > count || budget > 0 && size > budget {
			return true
		}
	}
	return false
}
