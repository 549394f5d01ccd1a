package doctor

import (
	"strings"
	"testing"
)

func TestTheDoctorNamesWhatASystemLacks(t *testing.T) {
	for goos, want := range map[string]string{
		"linux":   "✓ system: linux, fully supported\n",
		"windows": "! system: on windows:\n  Bash, and everything else that needs a Unix shell, is refused. Hooks run with cmd.\n",
		"plan9":   "! system: plan9 is not supported",
	} {
		var d Diagnosis
		d.system(goos)
		if !strings.Contains(d.Text(), want) {
			t.Errorf("%s: %s", goos, d.Text())
		}
	}
}
