package headless

import (
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
)

func TestEveryEventIsListed(t *testing.T) {
	for _, event := range settings.Events {
		if eventSummaries[event] == "" {
			t.Errorf("listing.go does not say when %s runs", event)
		}
	}
}
