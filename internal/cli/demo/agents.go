package demo

import (
	"path/filepath"

	"github.com/haftdev/haft/model/script"
)

// agentsScene shows sub-agents at work at the same time.
func agentsScene() scene {
	return scene{
		name:   "agents",
		title:  "two sub-agents review the code at the same time, each in its own conversation",
		intro:  "The repository is in DIR.",
		prompt: "How good is this package? Look at the code and at the tests.",
		next:   "The agents that come with haft, and how to write your own:\n  haft agents list\n  haft help agents",
		script: agentsScript,
	}
}

func agentsScript(dir string) *script.Scenario {
	agent := func(description, prompt string) script.Block {
		return call("Agent", in{"description": description, "prompt": prompt, "subagent_type": "Explore", "run_in_background": false})
	}
	const code, tests = "Judge basket.go.", "Judge basket_test.go."
	return &script.Scenario{
		Turns: []script.Turn{
			turn("I'll start two agents, which work in parallel and can only read.", agent("Judge the code", code), agent("Judge the tests", tests)),
			turn("The code adds up prices but ignores the number of pieces. The tests catch it, so a fix is safe to make."),
		},
		Parts: []script.Part{
			{When: code, Turns: []script.Turn{
				turn("", call("Read", in{"file_path": filepath.Join(dir, "basket.go")})),
				turn("Total adds the price of each item once, whatever Pieces says."),
			}},
			{When: tests, Turns: []script.Turn{
				turn("", call("Grep", in{"pattern": "want", "path": dir, "output_mode": "content", "glob": "*_test.go"}),
					call("Read", in{"file_path": filepath.Join(dir, "basket_test.go")})),
				turn("The cases cover several pieces and the discount. Two of them fail today."),
			}},
		},
	}
}
