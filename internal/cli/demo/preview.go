package demo

import (
	"github.com/haftdev/haft/model/script"
)

// previewScene shows commands whose changes are seen before they count.
func previewScene() scene {
	return scene{
		name:   "preview",
		title:  "you approve the changes that a command makes, not the command",
		intro:  "The repository is in DIR. No rule allows anything.",
		prompt: "Rename pieces to units everywhere.",
		next:   "Try it on one of your own commands:\n  haft preview -- 'make generate'\n  haft help preview",
		script: func(string) *script.Scenario {
			return &script.Scenario{Turns: []script.Turn{
				turn("One command over all files. It runs in an overlay first, so you see its changes before they are made.",
					bash(`sed -i 's/Pieces/Units/g; s/number of pieces/number of units/' basket.go basket_test.go && printf 'renamed\n' > NOTES`, "Rename Pieces to Units")),
				turn("If a command turns out to change nothing, you are not asked.",
					bash("cp basket.go before.go && sed -i s/Units/Units/ basket.go && cmp before.go basket.go && rm before.go && echo the same", "Try another change")),
				turn("What you allowed was the change itself: it was made exactly as shown, and the command did not run a second time."),
			}}
		},
	}
}
