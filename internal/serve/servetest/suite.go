// Package servetest is what every server with the API of 'haft serve' must do, whatever is
// behind it.
//
//	servetest.Run(t, open, nil)
package servetest

import (
	"testing"

	"github.com/haftdev/haft/model/script"
)

// Open prepares where sessions are, with a model that answers for them, for the user of the
// test. Each call of what it returns starts a server there.
type Open func(t *testing.T, m *script.Server) func() *Site

// Run runs the cases. Those in skip do not apply, for the reason that is there.
func Run(t *testing.T, open Open, skip map[string]string) {
	for name, run := range map[string]func(*testing.T, Open){
		"CreateWatchAnswer":           createWatchAnswer,
		"EventsResumeFromAnyPosition": eventsResume,
		"OneOfManyAnswersCounts":      oneOfManyAnswers,
		"AnswersOfEveryKind":          everyAnswer,
		"TheLifeOfASession":           lifeOfASession,
		"TheListIsLive":               liveList,
		"Remote":                      remote,
	} {
		t.Run(name, func(t *testing.T) {
			if why := skip[name]; why != "" {
				t.Skip(why)
			}
			run(t, open)
		})
	}
}
