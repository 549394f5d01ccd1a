package harness

import (
	"github.com/haftdev/haft/tool"
)

// loading is how tools are described to the model of a conversation.
type loading struct {
	limits     tool.DeferOptions
	references bool // its API loads a tool where a result refers to it
	door       *tool.Tool
}

// setOptions are those of a set; late says that tools may join while it is used.
func (l loading) setOptions(late bool) tool.SetOptions {
	return tool.SetOptions{Defer: l.limits, References: l.references, Door: l.door, Late: late}
}

// usualWindow limits the context that shares are taken of: a larger context is no reason to
// send more with every request.
const usualWindow = 200_000

// deferAbove are the limits for foreign tools that take more than a share of the context.
func deferAbove(percent float64, window int) tool.DeferOptions {
	switch {
	case percent <= 0:
		return tool.DeferOptions{Always: true}
	case percent >= 100:
		return tool.DeferOptions{Never: true}
	}
	if window <= 0 || window > usualWindow {
		window = usualWindow
	}
	return tool.DeferOptions{Tokens: max(1, int(percent/100*float64(window))), Count: -1}
}
