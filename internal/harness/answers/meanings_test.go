package answers

import (
	"testing"

	"github.com/haftdev/haft/internal/config/settings"
)

func TestEverySettingHasAMeaning(t *testing.T) {
	known := map[string]bool{}
	for _, k := range settings.Knobs() {
		known[k.Key] = true
		if Meaning(nil, k) == "" {
			t.Errorf("%s has no meaning", k.Key)
		}
	}
	for key := range meanings {
		if !known[key] {
			t.Errorf("there is no setting %s", key)
		}
	}
}
