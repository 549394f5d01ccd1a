package agent

import (
	_ "embed"
	"errors"
)

//go:embed summary.md
var summaryPrompt string

var errNoSummary = errors.New("the model gave no summary")

const summaryAgain = "\nYou were asked this before and replied with a call or nothing. Calls are not run now. Write the summary as text.\n"
