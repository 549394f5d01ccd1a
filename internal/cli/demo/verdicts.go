package demo

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/haftdev/haft/model/script"
)

// verdictsScene shows what runs unasked, what is asked and what is denied, and why.
func verdictsScene() scene {
	return scene{
		name:   "verdicts",
		title:  "what runs without asking, what is denied, what you are asked about, and why",
		intro:  "The repository is in DIR. One rule denies git push; everything else is haft's default.",
		prompt: "Clean up, and publish.",
		next: "Ask for any verdict yourself:\n" +
			"  haft permissions explain Bash 'git status && git push'\n" +
			"  haft help permissions",
		deny:   []string{"Bash(git push:*)"},
		script: verdictsScript,
		check: func(_ context.Context, dir string) error {
			if _, err := os.Stat(filepath.Join(dir, "basket.go")); err != nil {
				return errors.New("basket.go is gone, though no one approved that")
			}
			return nil
		},
	}
}

func verdictsScript(string) *script.Scenario {
	return &script.Scenario{Turns: []script.Turn{
		turn("A read-only command runs without asking you. On Linux the kernel makes sure that it only reads.",
			bash("ls -l && grep -n Pieces *.go | sort", "Look around")),
		turn("I'll publish. Hidden in another command, it is still git push.",
			bash(`echo publishing && sh -c "git push --force origin main"`, "Publish")),
		turn("Denied, and the reason names the rule. Deleting is neither denied nor allowed, so you are asked, and see what would be lost.",
			bash("find . -name '*.md' -exec rm {} +", "Delete the notes")),
		turn("Commands are parsed and judged part by part, and each verdict has a reason."),
	}}
}
