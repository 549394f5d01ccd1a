package catalog

const million = 1_000_000

// models by canonical name.
var models = map[string]Info{
	"claude-fable-5-1":  binding(modern("Claude Fable 5.1", "high", always, price{10, 50, 0.25, 12.5})),
	"claude-mythos-5-1": binding(modern("Claude Mythos 5.1", "high", always, price{10, 50, 0.25, 12.5})),
	"claude-fable-5":    modern("Claude Fable 5", "high", always, price{10, 50, 1, 12.5}),
	"claude-mythos-5":   modern("Claude Mythos 5", "high", always, price{10, 50, 1, 12.5}),

	"claude-opus-5-5": binding(modern("Claude Opus 5.5", "medium", always, price{4, 20, 0.2, 5})),
	"claude-opus-5":   modern("Claude Opus 5", "high", onRequest, price{5, 25, 0.5, 6.25}),
	"claude-opus-4-8": modern("Claude Opus 4.8", "high", onRequest, price{5, 25, 0.5, 6.25}),
	"claude-opus-4-7": modern("Claude Opus 4.7", "high", onRequest, price{5, 25, 0.5, 6.25}),
	"claude-opus-4-6": modern("Claude Opus 4.6", "high", onRequest, price{5, 25, 0.5, 6.25}),
	"claude-opus-4-5": older("Claude Opus 4.5", "high", price{5, 25, 0.5, 6.25}),

	"claude-sonnet-5-5": binding(modern("Claude Sonnet 5.5", "high", always, price{2, 10, 0.1, 2.5})),
	"claude-sonnet-5":   modern("Claude Sonnet 5", "high", onRequest, price{2, 10, 0.2, 2.5}),
	"claude-sonnet-4-6": modern("Claude Sonnet 4.6", "high", onRequest, price{3, 15, 0.3, 3.75}),
	"claude-sonnet-4-5": older("Claude Sonnet 4.5", "", price{3, 15, 0.3, 3.75}),

	"claude-haiku-5-5": tiered(binding(modern("Claude Haiku 5.5", "medium", onRequest, price{0.1, 0.5, 0.01, 0.125})), 100_000, price{0.5, 2.5, 0.05, 0.625}),
	"claude-haiku-4-5": older("Claude Haiku 4.5", "", price{1, 5, 0.1, 1.25}),
}

// Whether a modern model thinks always, or can be told not to.
const (
	always    = true
	onRequest = false
)

// modern are the models that think as much as the question needs.
func modern(name, effort string, always bool, p price) Info {
	return Info{
		Name: name, Known: true, Context: million, MaxOutput: 128_000,
		Thinking: Adaptive, AlwaysThinks: always, Effort: effort, price: p,
	}
}

// older are the models that think within a budget.
func older(name, effort string, p price) Info {
	return Info{Name: name, Known: true, Context: 200_000, MaxOutput: 64_000, Thinking: Budget, Effort: effort, price: p}
}

func tiered(m Info, from int64, long price) Info {
	m.longFrom, m.longPrice = from, long
	return m
}

func binding(m Info) Info {
	m.BindsThinking = true
	return m
}
